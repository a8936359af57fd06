"""What the tests of case files share: golden cases to change, files to write."""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str, change=None, pick=slice(None)) -> tuple[list[dict], dict]:
    """Cases and maps of a golden file, to be changed and written elsewhere."""
    cases = json.loads((GOLDEN / f"{name}.json").read_text())[pick]
    maps = {}
    if (GOLDEN / f"{name}.npz").exists():
        with np.load(GOLDEN / f"{name}.npz") as held:
            maps = {case["id"]: held[case["id"]].copy() for case in cases}
    if change:
        change(cases, maps)
    return cases, maps


def write(folder: Path, cases, maps=None, name: str = "mine.json") -> Path:
    """A case file, of JSON-ready cases or of text as it is, and its maps."""
    file = folder / name
    file.write_text(cases if isinstance(cases, str) else json.dumps(cases))
    if maps:
        np.savez(file.with_suffix(".npz"), **maps)
    return file


def scenario_of_one_fractal(**a) -> dict:
    """GM to L1 by Load2D: a matrix of one fractal is the same in ND and NZ."""
    one = [{"instruction": "load2d", "fields": {"repeatTimes": 1}}]
    side = {
        "gm_shape": [16, 16],
        "transpose": False,
        "l0_shape": [16, 16],
        "l0_fractal": [16, 16],
        "l0_outer": "row",
        "gm_to_l1": one,
        "l1_to_l0": one,
    }
    shape = {"m": 16, "n": 16, "k": 16, "product": "atlas_a2", "dtype": "half"}
    return {"id": "tiny", **shape, "a": {**side, **a}, "b": side}
