"""`diagnose`: what a kernel did, where a dump is not what its call leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._call import Call
from .._dtypes import AscendType
from .._errors import (
    AlignmentError,
    AscendError,
    OverlapError,
    ParamError,
    SupportError,
)
from .._move import Move, Overlap
from .._products import product as product_of
from .._products import resolve_path
from ..instr import Params
from ..sweeps._batch import Job
from ..sweeps._bits import word
from ..sweeps._cases import instruction_of
from ..sweeps._dump import Dump, dump_of
from ..sweeps._jobs import run_jobs
from ._damage import damage, plainer
from ._explanation import Diagnosis, Explanation
from ._rules import RULES, Candidate, Claim

WHO = "diagnose"
MOST = 4096
"""Candidates that are tried, those of least cost first."""

_AGAIN = 8
"""How often a changed call may write each element, on average: a loop in a wrong unit
that stays where it is may be one of 10^9 writes, for which no memory is enough."""

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
    return of_calls(dump, (claim,), product, path, overlap)


def of_calls(
    dump: Dump,
    claims: Sequence[Claim],
    product: Any,
    path: str | None,
    overlap: Overlap,
) -> Diagnosis:
    """The diagnosis of a dump and the calls, in order, that it is claimed to be of."""
    first = claims[0].call.params
    cls, after, size = first.__class__, dump.dst_after, dump.dst_after.size
    where = None if product is None else product_of(product, cls.instruction)
    if path is not None:
        path = resolve_path(path, (*cls.paths(),), cls.instruction, cls.source)
    site = {"product": where, "path": path, "overlap": overlap}
    unknown = dump.dst_before is None
    before = after if dump.dst_before is None else dump.dst_before
    claimed = _move(claims, dump.src.size, size, site)
    least = _volume(claimed) if unknown else 0
    most = _AGAIN * max(size, _volume(claimed))
    tried: list[tuple[str, Said, Move]] = []
    for name, one in _candidates(claims):
        move = _try(one.claims, claims[0].type, dump.src.size, size, site)
        if move is not None and least <= _volume(move) <= most:
            tried.append((name, one, move))
    moves = [claimed, *(move for *_, move in tried)]
    ran = run_jobs(_jobs(moves, dump.src, before))
    expected = next(ran)
    mismatches = int((expected != after).sum())
    params = tuple(claim.call.params for claim in claims)
    if not mismatches:
        return Diagnosis(params, 0, size, (), 0)
    found = []
    for (name, one, move), left in zip(tried, ran, strict=True):
        count = int((left.view(after.dtype) != after).sum())
        made = move.calls[one.changed].params
        told = Explanation(name, one.said, made, count, size, move)
        found.append((one.cost, told))
    found.sort(key=lambda pair: (pair[1].mismatches, pair[0]))
    best = [one for _, one in found if one.mismatches < mismatches]
    best = [*plainer(claimed, expected, dump), *best]
    if not any(one.exact for one in best):
        best = [*damage(claimed, expected, dump), *best]
    return Diagnosis(params, mismatches, size, tuple(best[:_KEPT]), len(tried))


def _volume(move: Move) -> int:
    return sum(nest.volume for nest in move.nests)


def _params(cls: type[Params], fields: Any) -> Params:
    if not isinstance(fields, Mapping):
        rule = f"be {cls.__name__} or a mapping of its fields"
        fix = "Such as {'repeatTimes': 1}."
        raise ParamError(WHO, "fields", rule, repr(fields), fix, cls.source)
    return cls.from_fields(fields)


class Said(NamedTuple):
    """What may have run instead of all claimed calls.

    Attributes:
      claims: the calls, in order.
      said, cost: as in `Candidate`.
      changed: which of them is another than was claimed.
    """

    claims: tuple[Claim, ...]
    said: str
    cost: float
    changed: int = 0


def _candidates(claims: Sequence[Claim]) -> list[tuple[str, Said]]:
    """Changed calls of all rules, each once, the nearest first."""
    claims = tuple(claims)
    every = [
        (rule.name, changed)
        for k, claim in enumerate(claims)
        for rule in RULES
        for one in rule.candidates(claim)
        if (changed := _in_place(claims, k, one))
    ]
    every += _in_other_order(claims)
    every.sort(key=lambda pair: pair[1].cost)
    seen: dict[tuple[Claim, ...], tuple[str, Said]] = {}
    for pair in every:
        seen.setdefault(pair[1].claims, pair)
    return list(seen.values())[:MOST]


def _in_place(claims: tuple[Claim, ...], k: int, one: Candidate) -> Said | None:
    """All calls, one of them changed; None where it has another type than the rest."""
    if len(claims) == 1:
        return Said((one.claim,), one.said, one.cost)
    if one.claim.type != claims[k].type:
        return None
    changed = (*claims[:k], one.claim, *claims[k + 1 :])
    return Said(changed, f"in call {k} {one.said}", one.cost, k)


def _in_other_order(claims: tuple[Claim, ...]) -> list[tuple[str, Said]]:
    """One of several calls left out, or two that follow each other exchanged."""
    found = []
    for k in range(len(claims) if len(claims) > 1 else 0):
        rest = (*claims[:k], *claims[k + 1 :])
        found.append(("calls", Said(rest, f"call {k} were left out", 1.0)))
    for k in range(len(claims) - 1):
        other = (*claims[:k], claims[k + 1], claims[k], *claims[k + 2 :])
        said = f"call {k + 1} came before call {k}"
        found.append(("calls", Said(other, said, 1.2, k)))
    return found


def _move(claims: Sequence[Claim], src: int, dst: int, site: dict[str, Any]) -> Move:
    calls = tuple(claim.call for claim in claims)
    type = claims[0].type
    return Move.sequence(calls, src_size=src, dst_size=dst, dtype=type, **site)


def _try(
    claims: Sequence[Claim], claimed: AscendType, src: int, dst: int, site: dict
) -> Move | None:
    """The move of changed calls in the same bytes; None where it is refused. A start
    that is not aligned, an instruction of another product, and a second write to an
    element are refused in a kernel that is written, but may be what has run."""
    bits = claims[0].type.bits
    sizes = [size * claimed.bits for size in (src, dst)]
    if any(size % bits for size in sizes):
        return None
    src, dst = (size // bits for size in sizes)
    for _ in range(4):
        try:
            return _move(claims, src, dst, site)
        except AlignmentError:  # some moves depend on the product: it stays
            site = {**site, "aligned": False}
        except SupportError:
            site = {**site, "product": None, "path": None}
        except OverlapError:
            site = {**site, "overlap": "last"}
        except AscendError:
            return None
    return None


def _jobs(moves: list[Move], src: np.ndarray, dst: np.ndarray) -> Iterator[Job]:
    for move in moves:
        yield Job(move, src.view(word(move.type)), dst.view(word(move.arrives)))
