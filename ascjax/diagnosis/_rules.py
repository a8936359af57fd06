"""The table of rules: what a kernel may have done instead of what it claims."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._call import Call
from .._dtypes import TYPES, AscendType
from .._errors import AscendError
from .._nest import Coord, LoopNest
from ..instr import REGISTRY, Site

_FEW = 9  # all values of a field from 0 on are tried up to here


class Claim(NamedTuple):
    """One call as it is claimed to have run: with its type, as the call counts it."""

    call: Call
    type: AscendType


class Candidate(NamedTuple):
    """What may have run instead.

    Attributes:
      claim: the call and its type.
      said: what differs from the claimed one, after "if": "dst_gap were 1 (claimed 0)".
      cost: how far it is from the claimed one; explanations of less cost come first.
    """

    claim: Claim
    said: str
    cost: float


@dataclasses.dataclass(frozen=True)
class Rule:
    """One way in which calls go wrong.

    Attributes:
      name: a word for it.
      words: what it is, in a sentence.
      candidates: of a claimed call, what may have run instead.

    >>> from ascjax.diagnosis import RULES
    >>> [rule.name for rule in RULES][:3]
    ['field', 'flag', 'swap']
    """

    name: str
    words: str
    candidates: Callable[[Claim], Iterator[Candidate]]


RULES: list[Rule] = []


def register(rule: Rule) -> None:
    """Add a rule to the table.

    Args:
      rule: whose name no other has.
    Raises:
      ValueError: for a name that is there already.
    Source: instructions.md; errata.md, As built.
    """
    if any(rule.name == other.name for other in RULES):
        raise ValueError(f"there is a rule {rule.name!r} already")
    RULES.append(rule)


# --- fields, those of structs inside too


class _Place(NamedTuple):
    """A field: its name for people, the way to it, and what it may hold."""

    name: str
    keys: tuple[Any, ...]
    meta: Any
    value: Any


def _places(params: Any, keys: tuple = (), prefix: str = "") -> Iterator[_Place]:
    for field in dataclasses.fields(params):
        value, meta = getattr(params, field.name), field.metadata
        name, way = prefix + field.name, (*keys, field.name)
        if "part" in meta and value is not None:
            yield from _places(value, way, f"{name}.")
        elif "range" in meta and isinstance(value, tuple):
            for k, item in enumerate(value):
                yield _Place(f"{name}[{k}]", (*way, k), meta, item)
        elif ("range" in meta or meta.get("flag")) and isinstance(value, int):
            yield _Place(name, way, meta, value)


def _with(params: Any, keys: tuple[Any, ...], value: Any) -> Any:
    first, *rest = keys
    if isinstance(first, int):
        return (*params[:first], value, *params[first + 1 :])
    if rest:
        value = _with(getattr(params, first), tuple(rest), value)
    return dataclasses.replace(params, **{first: value})


def _changed(
    claim: Claim, changes: list[tuple[_Place, Any]], cost: float
) -> Iterator[Candidate]:
    """The claim with some fields changed, where the struct allows it."""
    params = claim.call.params
    try:
        for place, value in changes:
            params = _with(params, place.keys, value)
    except AscendError:
        return
    if params == claim.call.params:
        return
    said = " and ".join(f"{p.name} were {v} (claimed {p.value})" for p, v in changes)
    call = dataclasses.replace(claim.call, params=params)
    yield Candidate(Claim(call, claim.type), said, cost)


def _numbers(claim: Claim) -> list[_Place]:
    return [place for place in _places(claim.call.params) if "range" in place.meta]


def _values(place: _Place) -> dict[int, float]:
    """Values that a field may have had instead, and how far each is."""
    low, high = place.meta["range"]
    value = place.value
    near = {value + step: 1.0 + abs(step) / 10 for step in (1, -1, 2, -2)}
    for times in (2, 4, 8, 16, 32, 64, 512):  # another unit: elements, blocks, bytes
        near.setdefault(value * times, 2.0)
        if value % times == 0:
            near.setdefault(value // times, 2.0)
    for small in range(_FEW):
        near.setdefault(small, 2.5)
    return {v: cost for v, cost in near.items() if low <= v <= high and v != value}


def _field(claim: Claim) -> Iterator[Candidate]:
    for place in _numbers(claim):
        for value, cost in _values(place).items():
            yield from _changed(claim, [(place, value)], cost)


def _flag(claim: Claim) -> Iterator[Candidate]:
    for place in _places(claim.call.params):
        if place.meta.get("flag"):
            yield from _changed(claim, [(place, not place.value)], 1.0)


def _swap(claim: Claim) -> Iterator[Candidate]:
    for a, b in itertools.combinations(_numbers(claim), 2):
        if a.value != b.value:
            yield from _changed(claim, [(a, b.value), (b, a.value)], 1.5)


def _pair(claim: Claim) -> Iterator[Candidate]:
    for a, b in itertools.combinations(_numbers(claim), 2):
        for x, y in itertools.product((1, -1), repeat=2):
            changes = [(a, a.value + x), (b, b.value + y)]
            yield from _changed(claim, changes, 4.0)


def _span(claim: Claim) -> Iterator[Candidate]:
    """A gap read as a stride, or a stride as a gap: the field is off by all that its
    step passes over."""
    for place in _numbers(claim):
        for length in _passed(claim, place):
            for value, what in (
                (place.value - length, "a stride, from start to start"),
                (place.value + length, "a gap, from end to start"),
            ):
                for one in _changed(claim, [(place, value)], 1.4):
                    yield one._replace(said=f"{one.said}, as {what}")


def _passed(claim: Claim, place: _Place) -> set[int]:
    """What the step of a field passes over, in the field's unit: all that the loops of
    smaller steps, or those inside, span. A field is a step where one more moves the
    step of a loop, and no loop's extent."""
    site, params = Site(None, None, claim.type), claim.call.params
    more = 1 if place.value < place.meta["range"][1] else -1
    try:
        other = _with(params, place.keys, place.value + more)
        mine, theirs = params.nest(site), other.nest(site)
    except (AscendError, ArithmeticError):
        return set()
    if not isinstance(mine, LoopNest) or not isinstance(theirs, LoopNest):
        return set()
    extents = [loop.extent for loop in mine.loops]
    if extents != [loop.extent for loop in theirs.loops]:
        return set()
    found = set()
    for coords, others in zip(_sides(mine), _sides(theirs), strict=True):
        here, there = _steps(coords, extents), _steps(others, extents)
        for k, (step, moved) in enumerate(zip(here, there, strict=True)):
            if unit := abs(moved - step):
                smaller = {j for j, other in enumerate(here) if abs(other) < abs(step)}
                for loops in (smaller, set(range(k + 1, len(here)))):
                    found.add(-(-_length(coords, extents, loops) // unit))
    return found


def _sides(nest: LoopNest) -> tuple[tuple[Coord, ...], tuple[Coord, ...]]:
    """The coordinates of the source, and those of the destination: its loops."""
    n = len(nest.loops)
    return nest.coords, tuple(
        Coord((*(0,) * k, 1, *(0,) * (n - 1 - k)), loop.dst_stride)
        for k, loop in enumerate(nest.loops)
    )


def _steps(coords: tuple[Coord, ...], extents: list[int]) -> list[int]:
    """Each loop's step, in elements."""
    return [
        sum(coord.stride * coord.terms[k] for coord in coords)
        for k in range(len(extents))
    ]


def _length(coords: tuple[Coord, ...], extents: list[int], loops: set[int]) -> int:
    """The elements that some loops span, no padding among them."""
    length = 1
    for coord in coords:
        last = sum(abs(coord.terms[k]) * (extents[k] - 1) for k in loops)
        if coord.extent is not None:
            last = min(last, coord.extent - 1)
        length += last * abs(coord.stride)
    return length


def _offset(claim: Claim) -> Iterator[Candidate]:
    """Starts in another unit, left out, or a block or fractal off."""
    c0, fractal = claim.type.c0, claim.type.fractal
    for name in ("src_offset", "dst_offset"):
        held = getattr(claim.call, name)
        steps = {held + s: 1.5 for s in (c0, -c0, fractal, -fractal, 1, -1)}
        for times in (2, 4, 16, 32, c0, fractal):
            steps.setdefault(held * times, 2.0)
            steps.setdefault(held // times, 2.0)
        steps.setdefault(0, 2.0)
        for value, cost in steps.items():
            if value >= 0 and value != held:
                call = dataclasses.replace(claim.call, **{name: value})
                said = f"{name} were {value} (claimed {held}, elements)"
                yield Candidate(Claim(call, claim.type), said, cost)


def _width(claim: Claim) -> Iterator[Candidate]:
    """The same fields with elements of another width, where starts allow it."""
    for name in ("int8_t", "half", "float"):
        other, bits = TYPES[name], claim.type.bits
        starts = [getattr(claim.call, at) * bits for at in ("src_offset", "dst_offset")]
        if other.bits == bits or bits < 8 or any(at % other.bits for at in starts):
            continue
        call = Call(claim.call.params, *(at // other.bits for at in starts))
        said = f"elements were {other.bits} bits wide (claimed {bits})"
        yield Candidate(Claim(call, other), said, 1.5)


def _version(claim: Claim) -> Iterator[Candidate]:
    """Another instruction of the same call, given the fields that both have."""
    params = claim.call.params
    held = {field.name: getattr(params, field.name) for field in _fields(params)}
    for other in REGISTRY.values():
        names = {field.name for field in _fields(other)}
        shared = {name: held[name] for name in held if name in names}
        if other is type(params) or other.op != params.op or len(shared) < 3:
            continue
        try:
            call = dataclasses.replace(claim.call, params=other(**shared))
        except (AscendError, TypeError):
            continue
        said = f"it were {other.instruction} with these fields"
        yield Candidate(Claim(call, claim.type), said, 2.0)


def _fields(params: Any) -> tuple[dataclasses.Field, ...]:
    return dataclasses.fields(params)


for _rule in (
    Rule("field", "one field had another value", _field),
    Rule("flag", "one flag was set or left out", _flag),
    Rule("swap", "two fields were exchanged", _swap),
    Rule("span", "a gap was read as a stride, or a stride as a gap", _span),
    Rule("offset", "an operand started elsewhere", _offset),
    Rule("width", "elements had another width", _width),
    Rule("version", "the fields were read as another instruction's", _version),
    Rule("pair", "two fields were one off", _pair),
):
    register(_rule)
