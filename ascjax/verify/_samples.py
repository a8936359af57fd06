"""Legal parameter sets of every instruction, built rather than drawn and rejected.

A builder takes its choices from `draw(low, high)`, an integer in [low, high]: a seeded
generator for the built-in suite, `draw(st.integers(low, high))` for hypothesis.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .. import oracle
from .._errors import AscendError, ParamError
from .._move import Move
from .._products import POSITIONS
from ..instr import Params, Site, params_class
from ._builders import ldwt_v1, ldwt_v2, load2d, load2dv2, nz2nd
from ._builders_nddma import nddma
from ._choices import Draw

BUILDERS: dict[str, Callable[[Site, Draw], Params]] = {
    "load2d": load2d,
    "load2dv2": load2dv2,
    "ldwt_v1": ldwt_v1,
    "ldwt_v2": ldwt_v2,
    "nz2nd": nz2nd,
    "nddma": nddma,
}
"""The builders of legal params by instruction; a new instruction may add its own."""

_FRACTAL_BYTES, _BLOCK_BYTES = 512, 32
_TRIES = 200


@dataclasses.dataclass(frozen=True)
class Sample:
    """One legal call: its params, and the buffers that it fits (elements)."""

    params: Params
    src_size: int
    dst_size: int
    src_offset: int
    dst_offset: int


def sample(instruction: str, site: Site, draw: Draw) -> Sample:
    """A legal call of `instruction` at `site`, every choice taken from `draw`.

    An instruction without a builder here gets small values from its fields' ranges,
    the illegal ones skipped.

    Raises:
      ParamError: where no legal values are found for an instruction without a builder.

    >>> import numpy as np, ascjax as asc
    >>> rng = np.random.default_rng(1)
    >>> site = Site(asc.ATLAS_A2, "A1->A2", asc.ascend_type("half"))
    >>> s = sample("load2d", site, lambda low, high: int(rng.integers(low, high + 1)))
    >>> move = asc.Move.of(s.params, src_size=s.src_size, dst_size=s.dst_size,
    ...                    src_offset=s.src_offset, dst_offset=s.dst_offset,
    ...                    product=site.product, path=site.path, dtype=site.type)
    """
    build = BUILDERS.get(instruction)
    if build is not None:
        return _buffers(build(site, draw), site, draw)
    for _ in range(_TRIES):
        try:
            made = _buffers(_any_params(params_class(instruction), draw), site, draw)
            Move.of(
                made.params,
                src_size=made.src_size,
                dst_size=made.dst_size,
                src_offset=made.src_offset,
                dst_offset=made.dst_offset,
                product=site.product,
                path=site.path,
                dtype=site.type,
            )
        except AscendError:
            continue
        return made
    raise ParamError(
        instruction,
        "fields",
        "have legal values among small ones",
        f"none in {_TRIES} draws",
        "Add a builder to verify._samples.BUILDERS.",
    )


# --- buffers


def _alignment(position: str, site: Site, destination: bool) -> int:
    """Elements that an operand's start must be a multiple of."""
    buffer = POSITIONS[position]
    if buffer == "GM":
        return max(1, 8 // site.type.bits)
    l0 = destination and buffer.startswith("L0")
    return (_FRACTAL_BYTES if l0 else _BLOCK_BYTES) * 8 // site.type.bits


def _buffers(params: Params, site: Site, draw: Draw) -> Sample:
    """Offsets and sizes: exactly what is needed, or more."""
    src, dst = (site.path or "GM->GM").split("->")
    src_offset = draw(0, 3) // 2 * draw(1, 9) * _alignment(src, site, False)
    dst_offset = draw(0, 3) // 2 * draw(1, 3) * _alignment(dst, site, True)
    read, written = _needed(params, site)
    return Sample(
        params,
        src_offset + max(1, read) + draw(0, 1) * draw(1, 40),
        dst_offset + max(1, written) + draw(0, 1) * draw(1, 40),
        src_offset,
        dst_offset,
    )


def _needed(params: Params, site: Site) -> tuple[int, int]:
    """Elements of source and destination, by the oracle: a fault of the engine must not
    fit the buffers to itself."""
    rule = oracle.INSTRUCTIONS.get(params.instruction)
    if rule is not None:
        fields = defaultdict(int, params.to_fields())
        read = written = 0
        for to, at in rule(fields, site.type.bits):
            written = max(written, int(to.max(initial=-1)) + 1)
            read = max(read, int(at.max(initial=-1)) + 1)
        return read, written
    nest = params.nest(site)
    if nest.volume == 0:
        return 0, 0
    reads = nest.src_range()
    return reads[1] + 1 if reads else 0, nest.dst_range()[1] + 1


def _any_params(cls: type[Params], draw: Draw) -> Params:
    """Small values inside each field's range; fields without one keep their default."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
        if "range" in field.metadata:
            low, high = field.metadata["range"]
            base = low if low > -5 else max(-4, low)
            values[field.name] = draw(base, max(base, min(high, base + 8)))
        elif field.metadata.get("flag"):
            values[field.name] = draw(0, 1) == 1
    return cls(**values)
