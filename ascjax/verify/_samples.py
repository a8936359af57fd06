"""Legal parameter sets of every instruction, built rather than drawn and rejected.

A builder takes its choices from `draw(low, high)`, an integer in [low, high]: a seeded
generator for the built-in suite, `draw(st.integers(low, high))` for hypothesis.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import oracle
from .._errors import AscendError, BoundsError, OverlapError, ParamError
from .._move import Move
from .._products import POSITIONS
from ..instr import Params, Site
from ._builders import ldwt_v1, ldwt_v2, load2d, load2dv2, nz2nd
from ._builders_copies import data_copy, data_copy_pad, nd2nz
from ._builders_cube import fixpipe
from ._builders_load3d import load3dv2
from ._builders_nddma import nddma
from ._choices import Draw
from ._names import runnable

BUILDERS: dict[str, Callable[[Site, Draw], Params]] = {
    "load2d": load2d,
    "load2dv2": load2dv2,
    "load3dv2": load3dv2,
    "ldwt_v1": ldwt_v1,
    "ldwt_v2": ldwt_v2,
    "nz2nd": nz2nd,
    "nddma": nddma,
    "nd2nz": nd2nz,
    "data_copy": data_copy,
    "data_copy_pad": data_copy_pad,
    "fixpipe": fixpipe,
}
"""The builders of legal params by instruction; a new instruction may add its own."""

_BOUNDARIES = {"L0A": 512, "L0B": 512, "L0C": 1024}  # bytes; 32 elsewhere
_TRIES = 200


@dataclasses.dataclass(frozen=True)
class Sample:
    """One legal call: its params, and the buffers that it fits (elements)."""

    params: Params
    src_size: int
    dst_size: int
    src_offset: int
    dst_offset: int

    def move(self, site: Site) -> Move:
        """The call as a move, checked.

        Raises:
          AscendError: where the engine refuses it.
        """
        return Move.of(
            self.params,
            src_size=self.src_size,
            dst_size=self.dst_size,
            src_offset=self.src_offset,
            dst_offset=self.dst_offset,
            product=site.product,
            path=site.path,
            dtype=site.type,
        )


def sample(instruction: str, site: Site, draw: Draw, *, nop: bool = True) -> Sample:
    """A legal call of `instruction` at `site`, every choice taken from `draw`.

    An instruction without a builder here gets small values from its fields' ranges.
    Skipped are those that its rules refuse, and those that engine and oracle both
    refuse for bounds or overlap. What only one of them refuses is no legal call but a
    fault, and is returned, so that the check of it fails.

    Args:
      nop: whether an instruction without a builder may get a NOP.
    Raises:
      ParamError: where no such values are found for an instruction without a builder.
      SupportError: where it has no `nest`.

    >>> import numpy as np, ascjax as asc
    >>> rng = np.random.default_rng(1)
    >>> site = Site(asc.ATLAS_A2, "A1->A2", asc.ascend_type("half"))
    >>> s = sample("load2d", site, lambda low, high: int(rng.integers(low, high + 1)))
    >>> s.move(site).dst_size == s.dst_size
    True
    """
    build = BUILDERS.get(instruction)
    if build is not None:
        params = build(site, draw)
        return _buffers(params, site, draw, _needed(params, site))
    cls = runnable(instruction)
    for _ in range(_TRIES):
        try:
            params = _any_params(cls, draw)
            params.check_support(site)
            params.rules(site)
        except AscendError:
            continue
        needed = _needed(params, site)
        made = _buffers(params, site, draw, needed)
        ours, theirs = _engine_refuses(made, site), _oracle_refuses(params, site)
        if ours is OverlapError and _refuses_more_than_clashes(params, site):
            continue
        if not ours and not theirs:
            if nop or needed[1]:
                return made
        elif not ours or not issubclass(ours, theirs):
            return made
    raise ParamError(
        instruction,
        "fields",
        "have legal values among small ones",
        f"none{'' if nop else ' but NOPs'} in {_TRIES} draws",
        "Add a builder to verify._samples.BUILDERS.",
    )


# --- what engine and oracle refuse


def _engine_refuses(made: Sample, site: Site) -> type[AscendError] | None:
    """The class of the engine's error, in buffers that the oracle fits."""
    try:
        made.move(site)
    except AscendError as error:
        return type(error)
    return None


def _oracle_refuses(params: Params, site: Site) -> tuple[type[AscendError], ...]:
    """The classes of the errors that the oracle has, whatever the buffers' sizes; all
    of them where there is no oracle to disagree with."""
    if params.instruction not in oracle.INSTRUCTIONS:
        return (AscendError,)
    try:
        to, at = _writes(params, site)
    except AscendError:  # it has no formula for this, so that any refusal is right
        return (AscendError,)
    found: list[type[AscendError]] = []
    if min(to.min(initial=0), at.min(initial=0)) < 0:
        found.append(BoundsError)
    if np.unique(to).size < to.size:
        found.append(OverlapError)
    return tuple(found)


def _refuses_more_than_clashes(params: Params, site: Site) -> bool:
    """Whether the engine's OverlapError is a rule of the instruction's own."""
    if type(params).check_overlap is Params.check_overlap:
        return False
    try:
        Params.check_overlap(params, site, params.nest(site))
    except OverlapError:
        return False
    return True


# --- buffers


def _alignment(position: str, site: Site) -> int:
    """Elements that an operand's start must be a multiple of."""
    buffer = POSITIONS[position]
    if buffer == "GM":
        return max(1, 8 // site.type.bits)
    return _BOUNDARIES.get(buffer, 32) * 8 // site.type.bits


def _buffers(params: Params, site: Site, draw: Draw, needed: tuple[int, int]) -> Sample:
    """Offsets and sizes: exactly what is needed, or more."""
    src, dst = (site.path or "GM->GM").split("->")
    src_offset = draw(0, 3) // 2 * draw(1, 9) * _alignment(src, site)
    dst_offset = draw(0, 3) // 2 * draw(1, 3) * _alignment(dst, site)
    read, written = needed
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
    if params.instruction in oracle.INSTRUCTIONS:
        try:
            to, at = _writes(params, site)
            return int(at.max(initial=-1)) + 1, int(to.max(initial=-1)) + 1
        except AscendError:  # the check says so, where the engine accepts it
            pass
    nest = params.nest(site)
    if nest.volume == 0:
        return 0, 0
    reads = nest.src_range()
    return reads[1] + 1 if reads else 0, nest.dst_range()[1] + 1


def _writes(params: Params, site: Site) -> tuple[np.ndarray, np.ndarray]:
    """Each write of the oracle: destination, and source where it is no padding."""
    fields = params.to_fields()
    where = {"product": site.product and site.product.key, "path": site.path}
    batches = oracle.writes(params.instruction, fields, site.type.bits, **where)
    none = np.zeros(0, np.int64)
    to, at = (np.concatenate(side) for side in zip((none, none), *batches, strict=True))
    return to, at[at != oracle.FILL]


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
