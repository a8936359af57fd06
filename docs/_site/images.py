"""The pictures of README and the tour, drawn again: python docs/_site/images.py."""

from __future__ import annotations

from pathlib import Path

import ascjax as asc
from ascjax.examples import figure

IMAGES = Path(__file__).parents[1] / "images"


def pictures() -> dict[str, asc.Picture]:
    """Each picture by its file's name."""
    window = figure("load2dv2-1").move
    params = asc.LoadData2DParams(repeat_times=3, src_stride=2, dst_gap=1)
    wrong = asc.LoadData2DParams(repeat_times=3, src_stride=1, dst_gap=1)
    where = {"product": "910B", "path": "L1->L0A", "dtype": "half"}
    load, other = (asc.Move.of(p, src_size=2048, **where) for p in (params, wrong))
    road = asc.nn.Pipeline(
        [
            (asc.Nd2NzParams(1, 32, 48, 0, 48, 32, 1, 0), "GM->L1"),
            (asc.LoadData2DParams(0, 6, 1, if_transpose=True), "L1->L0A"),
        ],
        product="910B",
        dtype="half",
    )
    return {
        "load2dv2.svg": asc.draw(window),
        "load2d.svg": asc.draw(load),
        "difference.svg": asc.draw_difference(load, other),
        "nz.svg": asc.draw(asc.Layout("NZ", (40, 60), "half")),
        "road.svg": asc.draw(road),
    }


if __name__ == "__main__":
    for name, picture in pictures().items():
        picture.save(IMAGES / name)
