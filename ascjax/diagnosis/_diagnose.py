"""`diagnose`: what a kernel did, where a dump is not what its call leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._call import Call
from .._dtypes import AscendType
from .._errors import AlignmentError, AscendError, ParamError
from .._move import Move, Overlap
from .._products import product as product_of
from .._products import resolve_path
from ..instr import Params
from ..sweeps._batch import Job
from ..sweeps._bits import word
from ..sweeps._cases import instruction_of
from ..sweeps._dump import Dump, dump_of
from ..sweeps._jobs import run_jobs
from ._damage import damage, untouched
from ._explanation import Diagnosis, Explanation
from ._rules import RULES, Candidate, Claim

WHO = "diagnose"
MOST = 4096
"""Candidates that are tried, those of least cost first."""

_KEPT = 10


def diagnose(
    src: Any,
    dst_before: Any,
    dst_after: Any,
    instruction: Any,
    fields: Any,
    dtype: Any,
    product: Any = None,
    path: str | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    overlap: Overlap = "error",
) -> Diagnosis:
    """The calls near a claimed one that explain what a kernel left, ranked.

    Each rule of `ascjax.diagnosis.RULES` changes the claimed call: a field's value, two
    fields, a flag, a start, the element's width, the instruction. All changed calls run
    in one sweep.

    Shapes: `src` (elements,), `dst_before` and `dst_after` (elements,); packed 4-bit
    buffers are uint8, two elements a byte.

    Args:
      src: what the source held.
      dst_before: what the destination held before; None where nobody kept it: then only
        calls that write no less than the claimed one are looked at.
      dst_after: what it held after.
      instruction: such as "load2d", or its params class.
      fields: the claimed params, or a mapping of fields by their C names.
      dtype: the Ascend C type.
      product, path, src_offset, dst_offset, overlap: as in `load_data`.
    Returns: a `Diagnosis`.
    Raises:
      ParamError, SupportError, BoundsError, AlignmentError, OverlapError: for a claimed
        call that is refused itself, and for buffers of other types or sizes.
    Gradient: none.
    Source: instructions.md, Units and sections 1 to 6 and 9.

    >>> import ascjax as asc, numpy as np
    >>> src = np.arange(1024, dtype="float16")
    >>> found = asc.diagnose(src, None, src[256:512], "load2d", {"repeatTimes": 1}, "half")
    >>> print(found.best)
    matches exactly if start_index were 1 (claimed 0)
    """  # noqa: E501
    cls = instruction_of(instruction, WHO)
    params = fields if isinstance(fields, cls) else _params(cls, fields)
    dump, type = dump_of(WHO, params, src, dst_before, dst_after, dtype)
    call = Call(params, src_offset, dst_offset)
    return of_dump(dump, Claim(call, type), product, path, overlap)


def of_dump(
    dump: Dump, claim: Claim, product: Any, path: str | None, overlap: Overlap
) -> Diagnosis:
    """The diagnosis of a dump and a claimed call."""
    params = claim.call.params
    cls, after, size = params.__class__, dump.dst_after, dump.dst_after.size
    where = None if product is None else product_of(product, cls.instruction)
    if path is not None:
        path = resolve_path(path, (*cls.paths(),), cls.instruction, cls.source)
    site = {"product": where, "path": path, "overlap": overlap}
    unknown = dump.dst_before is None
    before = after if dump.dst_before is None else dump.dst_before
    claimed = _move(claim, dump.src.size, size, site)
    least = claimed.nests[0].volume if unknown else 0
    tried: list[tuple[str, Candidate, Move]] = []
    for name, one in _candidates(claim):
        move = _try(one.claim, claim.type, dump.src.size, size, site)
        if move is not None and move.nests[0].volume >= least:
            tried.append((name, one, move))
    ran = run_jobs(_jobs([claimed, *(move for *_, move in tried)], dump.src, before))
    expected = next(ran)
    mismatches = int((expected != after).sum())
    if not mismatches:
        return Diagnosis(params, 0, size, (), 0)
    found = []
    for (name, one, move), left in zip(tried, ran, strict=True):
        count = int((left.view(after.dtype) != after).sum())
        made = move.calls[0].params
        found.append((one.cost, Explanation(name, one.said, made, count, size)))
    found.sort(key=lambda pair: (pair[1].mismatches, pair[0]))
    best = [one for _, one in found if one.mismatches < mismatches]
    if not unknown:
        best = [*untouched(expected, before, after), *best]
    if not any(one.exact for one in best):
        best = [*damage(claimed, expected, dump), *best]
    return Diagnosis(params, mismatches, size, tuple(best[:_KEPT]), len(tried))


def _params(cls: type[Params], fields: Any) -> Params:
    if not isinstance(fields, Mapping):
        rule = f"be {cls.__name__} or a mapping of its fields"
        fix = "Such as {'repeatTimes': 1}."
        raise ParamError(WHO, "fields", rule, repr(fields), fix, cls.source)
    return cls.from_fields(fields)


def _candidates(claim: Claim) -> list[tuple[str, Candidate]]:
    """Changed calls of all rules, each once, the nearest first."""
    every = [(rule.name, one) for rule in RULES for one in rule.candidates(claim)]
    every.sort(key=lambda pair: pair[1].cost)
    seen: dict[Claim, tuple[str, Candidate]] = {}
    for pair in every:
        seen.setdefault(pair[1].claim, pair)
    return list(seen.values())[:MOST]


def _move(claim: Claim, src: int, dst: int, site: dict[str, Any]) -> Move:
    call = claim.call
    return Move.of(
        call.params,
        src_size=src,
        dst_size=dst,
        src_offset=call.src_offset,
        dst_offset=call.dst_offset,
        dtype=claim.type,
        **site,
    )


def _try(
    claim: Claim, claimed: AscendType, src: int, dst: int, site: dict[str, Any]
) -> Move | None:
    """The move of a changed call in the same bytes; None where it is refused. Starts
    need no alignment: a wrong one is what may have happened."""
    bits = claim.type.bits
    sizes = [size * claimed.bits for size in (src, dst)]
    if any(size % bits for size in sizes):
        return None
    src, dst = (size // bits for size in sizes)
    try:
        return _move(claim, src, dst, site)
    except AlignmentError:
        free = {**site, "product": None, "path": None}
    except AscendError:
        return None
    try:
        return _move(claim, src, dst, free)
    except AscendError:
        return None


def _jobs(moves: list[Move], src: np.ndarray, dst: np.ndarray) -> Iterator[Job]:
    for move in moves:
        yield Job(move, src.view(word(move.type)), dst.view(word(move.arrives)))
