"""`diagnose`: what a kernel did, where a dump is not what its call leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._call import Call
from .._dtypes import AscendType, of_array
from .._errors import AlignmentError, AscendError, BoundsError, ParamError
from .._move import Move, Overlap
from .._products import product as product_of
from .._products import resolve_path
from ..instr import Params
from ..sweeps._batch import Job
from ..sweeps._bits import SOURCE, array_of, bits_of, word
from ..sweeps._cases import instruction_of
from ..sweeps._jobs import run_jobs
from ._rules import RULES, Candidate, Claim

WHO = "diagnose"
MOST = 4096
"""Candidates that are tried, those of least cost first."""

_KEPT = 10


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What may have run, and how well it explains the dump.

    Attributes:
      rule: the rule's name; "damage" where no call explains it.
      said: what differs from the claimed call.
      params: the params that would do it, or None.
      mismatches, elements: how many elements it does not explain, of how many.

    >>> one = Explanation("field", "dst_gap were 1 (claimed 0)", None, 0, 256)
    >>> one.exact, str(one)
    (True, 'matches exactly if dst_gap were 1 (claimed 0)')
    """

    rule: str
    said: str
    params: Params | None
    mismatches: int
    elements: int

    @property
    def exact(self) -> bool:
        """Whether it explains every bit."""
        return self.mismatches == 0

    def __str__(self) -> str:
        if self.exact:
            return f"matches exactly if {self.said}"
        wrong = f"{self.mismatches} of {self.elements} elements"
        return f"{wrong} would still differ if {self.said}"


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Explanations of a dump, the best first.

    Attributes:
      claim: the claimed params.
      mismatches, elements: how many elements differ from what the claimed call leaves,
        of how many.
      explanations: what may have run instead, at most ten; none where the claimed call
        explains every bit.
      tried: how many candidates ran.

    >>> import ascjax as asc, numpy as np
    >>> src = np.arange(1024, dtype="uint16")
    >>> after = np.concatenate([src[:256], np.zeros(256, "uint16"), src[512:768]])
    >>> fields = {"repeatTimes": 2, "srcStride": 2}
    >>> print(asc.diagnose(src, np.zeros_like(after), after, "load2d", fields, "half"))
    load2d: 512 of 768 elements differ from what the claimed call leaves.
    1. matches exactly if dst_gap were 1 (claimed 0)
    ...
    """

    claim: Params
    mismatches: int
    elements: int
    explanations: tuple[Explanation, ...]
    tried: int

    @property
    def matches(self) -> bool:
        """Whether the claimed call explains the dump, bit for bit."""
        return self.mismatches == 0

    @property
    def best(self) -> Explanation | None:
        """The first explanation, where it is exact."""
        first = next(iter(self.explanations), None)
        return first if first is not None and first.exact else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "claim": self.claim.to_dict(),
            "matches": self.matches,
            "mismatches": self.mismatches,
            "elements": self.elements,
            "tried": self.tried,
            "explanations": [
                {
                    "rule": one.rule,
                    "said": one.said,
                    "params": one.params and one.params.to_dict(),
                    "mismatches": one.mismatches,
                    "exact": one.exact,
                }
                for one in self.explanations
            ],
        }

    def __str__(self) -> str:
        who = self.claim.instruction
        if self.matches:
            return f"{who}: the claimed call explains all {self.elements} elements."
        lines = [
            f"{who}: {self.mismatches} of {self.elements} elements differ from what "
            "the claimed call leaves."
        ]
        lines += [f"{k}. {one}" for k, one in enumerate(self.explanations, 1)]
        exact = sum(one.exact for one in self.explanations)
        if exact > 1:
            lines.append(
                f"The first {exact} match this dump equally: a source whose elements "
                "are all different may tell them apart."
            )
        if not exact:
            lines.append(f"None of {self.tried} changed calls explains every bit.")
        return "\n".join(lines)


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
    cls = instruction_of(instruction)
    params = fields if isinstance(fields, cls) else _params(cls, fields)
    source, type = held(cls, "src", src, dtype)
    conversion = params.conversion(type)
    arrives = (conversion.type if conversion else type).name
    after, _ = held(cls, "dst_after", dst_after, arrives)
    before = None
    if dst_before is not None:
        before, _ = held(cls, "dst_before", dst_before, arrives)
    call = Call(params, src_offset, dst_offset)
    return of_bits(source, before, after, call, type, product, path, overlap)


def of_bits(
    source: np.ndarray,
    dst_before: np.ndarray | None,
    after: np.ndarray,
    call: Call,
    type: AscendType,
    product: Any,
    path: str | None,
    overlap: Overlap,
) -> Diagnosis:
    """The diagnosis of buffers of bits and a claimed call."""
    params, cls = call.params, call.params.__class__
    where = None if product is None else product_of(product, cls.instruction)
    if path is not None:
        path = resolve_path(path, (*cls.paths(),), cls.instruction, cls.source)
    site = {"product": where, "path": path, "overlap": overlap}
    before = after if dst_before is None else dst_before
    if before.shape != after.shape:
        rule = f"hold {after.size} elements, as dst_after"
        fix = "Pass the same buffer before and after."
        raise BoundsError(WHO, "dst_before", rule, before.size, fix, SOURCE)
    claim = Claim(call, type)
    claimed = _move(claim, source.size, after.size, site)
    least = claimed.nests[0].volume if dst_before is None else 0
    candidates = _candidates(claim)
    moves: list[tuple[str, Candidate, Move]] = []
    for name, one in candidates:
        move = _try(one.claim, claim.type, source.size, after.size, site)
        if move is not None and move.nests[0].volume >= least:
            moves.append((name, one, move))
    jobs = _jobs([claimed, *(move for *_, move in moves)], source, before)
    wrong = [int((found != after.view(found.dtype)).sum()) for found in run_jobs(jobs)]
    found = [
        Explanation(name, one.said, move.calls[0].params, count, move.dst_size)
        for (name, one, move), count in zip(moves, wrong[1:], strict=True)
    ]
    costs = [one.cost for _, one, _ in moves]
    order = sorted(range(len(found)), key=lambda k: (_share(found[k]), costs[k]))
    best = [found[k] for k in order[:_KEPT] if _share(found[k]) < wrong[0] / after.size]
    if wrong[0]:
        (expected,) = run_jobs([Job(claimed, source, before)])
        if dst_before is not None:
            best = [*_untouched(expected, before, after), *best]
        if not any(one.exact for one in best):
            kept = None if dst_before is None else before
            best = [*_damage(claimed, expected, kept, after), *best]
    return Diagnosis(
        params, wrong[0], after.size, tuple(best if wrong[0] else ()), len(found)
    )


def _share(one: Explanation) -> float:
    return one.mismatches / max(1, one.elements)


def _params(cls: type[Params], fields: Any) -> Params:
    if not isinstance(fields, Mapping):
        rule = f"be {cls.__name__} or a mapping of its fields"
        fix = "Such as {'repeatTimes': 1}."
        raise ParamError(WHO, "fields", rule, repr(fields), fix, cls.source)
    return cls.from_fields(fields)


def held(
    cls: type[Params], field: str, value: Any, dtype: Any
) -> tuple[np.ndarray, AscendType]:
    """A buffer as bits, and its type as the instruction counts it."""
    array = array_of(WHO, field, value).reshape(-1)
    type, packed = of_array(array.dtype, dtype, WHO, field)
    counted = cls.counted(type)
    if counted != type:
        type, packed = of_array(array.dtype, counted, WHO, field)
    return bits_of(array, type, packed), type


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


def _told(said: str, size: int) -> Explanation:
    return Explanation("damage", said, None, 0, size)


def _untouched(
    expected: np.ndarray, before: np.ndarray, after: np.ndarray
) -> list[Explanation]:
    """What is plainer than any other call: nothing ran, or bytes are in another
    order."""
    if np.array_equal(before, after):
        return [_told("nothing had been written", after.size)]
    if after.dtype.itemsize > 1 and np.array_equal(expected.byteswap(), after):
        said = "the bytes of each element were in reverse order"
        return [_told(said, after.size)]
    return []


def _damage(
    move: Move, expected: np.ndarray, before: np.ndarray | None, after: np.ndarray
) -> list[Explanation]:
    """What explains a dump that no other call does: the call stopped early, or a few
    elements are damaged."""
    wrong = expected != after
    order = move.nests[0].addresses()[0] if move.nests[0].volume else np.zeros(0, int)
    reached = int(wrong[order].argmax()) if order.size else 0
    rest, outside = order[reached:], np.ones(after.size, bool)
    outside[order] = False
    stopped = before is not None and np.array_equal(after[rest], before[rest])
    if stopped and not wrong[outside].any():
        said = f"it had stopped after {reached} of {order.size} elements written"
        return [_told(said, after.size)]
    count = int(wrong.sum())
    if count <= max(4, after.size // 64):
        flipped = int(np.bitwise_count(expected[wrong] ^ after[wrong]).sum())
        said = f"{count} elements had been damaged after it ran ({flipped} bits)"
        return [_told(said, after.size)]
    return []
