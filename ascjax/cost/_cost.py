"""`cost.of`: cycles of moves, pipelines and matrix products, by published figures."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from .._errors import ParamError, SupportError
from .._index_map import IndexMap
from .._move import Move
from .._nest import FILL
from .._products import POSITIONS
from ..nn._pipeline import Pipeline
from ..nn.cube._job import Job, side_for
from ..nn.cube._matmul import CubeMatmul
from ..nn.cube._tiles import Span, spans
from ._mmad import mmad
from ._rates import SOURCE, SOURCES, WHO, V, check_overhead, rate_of

Unpublished = Literal["refuse", "leave out"]


@dataclasses.dataclass(frozen=True)
class Part:
    """What one step costs, all its calls together.

    Attributes:
      step: such as "load2d L1 -> L0A".
      calls: how many.
      bytes: what they write; 0 of Mmad.
      padding: bytes of it that are padding.
      cycles: by the published bandwidth, and the caller's overhead for each call; None
        where none is published.
      bytes_per_cycle: that bandwidth; None of Mmad, and where none is published.
      source: "V" or "P", see `SOURCES`; "" where nothing is published.
      note: what the figure leaves out.
    """

    step: str
    calls: int
    bytes: int
    padding: int
    cycles: float | None
    bytes_per_cycle: float | None
    source: str
    note: str = ""

    def __str__(self) -> str:
        what = f"{self.calls} call{'s' * (self.calls != 1)}"
        what += f", {self.bytes:,} bytes" if self.bytes else ""
        if self.cycles is None:
            return f"{self.step}: not published, {what}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.step}: {self.cycles:,.1f} cycles, {what} [{self.source}]{note}"


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a move, a pipeline or a matrix product costs by published figures.

    Nothing of it was measured. Each part is bytes / bandwidth + calls * overhead.

    Attributes:
      parts: the steps, in order.
      overhead: cycles of a call, as the caller set it: none is published.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(repeat_times=4, src_stride=1)
    >>> move = asc.Move.of(
    ...     p, src_size=1024, product="910B", path="L1->L0A", dtype="half")
    >>> cost = asc.cost.of(move)
    >>> cost.cycles, cost.parts[0].bytes_per_cycle
    (8.0, 256.0)
    """

    parts: tuple[Part, ...]
    overhead: float = 0.0

    @property
    def cycles(self) -> float:
        """All published parts one after another."""
        return sum(part.cycles or 0.0 for part in self.parts)

    @property
    def longest(self) -> float:
        """The longest part: the least that it takes where all others hide behind it."""
        return max((part.cycles or 0.0 for part in self.parts), default=0.0)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """The steps that `cycles` leaves out: nobody published their bandwidth."""
        return tuple(part.step for part in self.parts if part.cycles is None)

    @property
    def bytes(self) -> int:
        """What all parts write."""
        return sum(part.bytes for part in self.parts)

    @property
    def waste(self) -> float:
        """Padding's share of what is written."""
        written = self.bytes
        return sum(part.padding for part in self.parts) / written if written else 0.0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dataclasses.asdict(self) | {
            "cycles": self.cycles,
            "unpublished": list(self.unpublished),
        }

    def __str__(self) -> str:
        lines = [str(part) for part in self.parts]
        total = f"{self.cycles:,.1f} cycles one after another, by published figures"
        if self.unpublished:
            total += f", without {', '.join(self.unpublished)}"
        used = dict.fromkeys(part.source for part in self.parts if part.source)
        return "\n".join([*lines, total, *(f"[{k}] {SOURCES[k]}" for k in used)])


def of(what: Any, *, overhead: float = 0.0, unpublished: Unpublished = "refuse"):
    """The cost of a move, a pipeline, or a matrix product, in cycles.

    A matrix product of several tiles is taken as the plainest kernel: for each tile of
    C and each of k it brings a tile of A and one of B from GM to L0, and keeps none for
    later. `asc.cost.matmul` has tiles of L1 besides.

    Args:
      what: a `Move` with product and path; an `asc.nn.Pipeline`; an
        `asc.nn.CubeMatmul`.
      overhead: cycles that each call takes besides; none is published, so the default
        is 0.
      unpublished: "refuse" a way whose bandwidth is not published, or "leave out" its
        cycles, its part saying so.
    Returns: a `Cost`; Python numbers, by published figures, never measured.
    Raises:
      ParamError: something else; a move without product or path; an overhead that is
        below 0 or no number.
      SupportError: a way whose bandwidth is not published.
    Gradient: none.
    Source: costs.md.

    >>> import ascjax as asc
    >>> mm = asc.nn.CubeMatmul("910B", 256, 256, 512, "half", True, tile=(128, 256, 64))
    >>> print(asc.cost.of(mm, overhead=16))
    nd2nz GM -> L1: 10,548.9 cycles, 32 calls, 786,432 bytes [P] (one core, ...)
    load2d L1 -> L0A: 1,280.0 cycles, 16 calls, 262,144 bytes [V]
    load2d L1 -> L0B: 5,120.0 cycles, 64 calls, 524,288 bytes [V]
    mmad: 8,448.0 cycles, 16 calls [V] (without the head of each call)
    fixpipe L0C -> GM: 6,484.3 cycles, 2 calls, 262,144 bytes [P] (one core, ...)
    31,881.2 cycles one after another, by published figures
    [P] the vendor's open tile-library cost model for A2 and A3
    [V] the vendor's table of theoretical performance of cube instructions
    """
    if unpublished not in ("refuse", "leave out"):
        rule, fix = "be 'refuse' or 'leave out'", "Use one of these."
        raise ParamError(WHO, "unpublished", rule, repr(unpublished), fix, SOURCE)
    check_overhead(overhead)
    if isinstance(what, CubeMatmul):
        parts = [*_of_product(what.job, overhead, unpublished)]
    elif isinstance(what, Pipeline):
        moves = what.moves
        parts = [p for move in moves for p in _of_move(move, overhead, unpublished)]
    elif isinstance(what, Move):
        parts = [*_of_move(what, overhead, unpublished)]
    else:
        rule = "be a Move, a Pipeline or a CubeMatmul"
        fix = "Make one, such as asc.Move.of(params, ...)."
        raise ParamError(WHO, "what", rule, type(what).__name__, fix, SOURCE)
    return Cost(tuple(_together(parts)), overhead)


def _of_move(
    move: Move, overhead: float, unpublished: Unpublished, times: int = 1
) -> Iterator[Part]:
    """The calls of a move, those of one instruction together."""
    product, path = move.product, move.path
    if product is None or path is None:
        got = "none" if product is None else f"{product}, and no path"
        rule, fix = "have a product and a path", "Pass both to Move.of."
        raise ParamError(WHO, "the move", rule, got, fix, SOURCE)
    src, dst = (POSITIONS[end] for end in path.split("->"))
    padding: dict[int, int] = {}
    bits = move.arrives.bits
    for call, nest in zip(move.calls, move.nests, strict=True):
        params = call.params
        size = nest.volume * bits // 8
        if id(params) not in padding:  # equal calls differ in where they start
            padding[id(params)] = _filled(move, nest) * bits // 8
        step, lost = f"{params.instruction} {src} -> {dst}", times * padding[id(params)]
        try:
            rate = rate_of(params, product, (src, dst), move.arrives)
        except SupportError:
            if unpublished == "refuse":
                raise
            yield Part(step, times, times * size, lost, None, None, "")
            continue
        cycles = times * (size / rate.bytes_per_cycle + overhead)
        speed = rate.bytes_per_cycle
        told = rate.source, rate.note
        yield Part(step, times, times * size, lost, cycles, speed, *told)


def _filled(move: Move, nest: Any) -> int:
    """Elements of a call that are padding."""
    if not nest.volume:
        return 0
    index = IndexMap.of_nest(nest, move.src_size, move.dst_size).index
    return int((index <= FILL).sum())


def _of_product(job: Job, overhead: float, unpublished: Unpublished) -> Iterator[Part]:
    """Each tile of C and of k, those of one size together."""
    m_spans, n_spans, k_spans = map(spans, (job.m, job.n, job.k), job.tile)
    how = overhead, unpublished
    steps = [*itertools.product(m_spans, n_spans, k_spans)]
    for name in ("GM", "L1"):  # what is brought there and from there, A before B
        for which in (0, 1):
            for rows, columns, ks in steps:
                sides = side_for(job.a, rows, ks), side_for(job.b, columns, ks)
                for move in sides[which].pipeline.moves:
                    if POSITIONS[str(move.path).split("->")[0]] == name:
                        yield from _of_move(move, *how, _count(rows, columns, ks))
    for rows, columns, ks in steps:
        yield _of_mmad(job, (rows, columns, ks), overhead)
    for rows, columns in itertools.product(m_spans, n_spans):
        pair = side_for(job.a, rows, k_spans[0]), side_for(job.b, columns, k_spans[0])
        yield from _of_move(job.fixpipe(*pair), *how, _count(rows, columns))


def _of_mmad(job: Job, step: tuple[Span, Span, Span], overhead: float) -> Part:
    rows, columns, ks = step
    a, b = side_for(job.a, rows, ks), side_for(job.b, columns, ks)
    type, product = job.road.type, job.road.product
    one = mmad(a.rows, b.rows, ks.size, dtype=type, product=product)
    times, note = _count(*step), "without the head of each call"
    return Part("mmad", times, 0, 0, times * (one + overhead), None, V, note)


def _count(*step: Span) -> int:
    total = 1
    for span in step:
        total *= span.count
    return total


def _together(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts of one step and one speed as one."""
    found: dict[tuple, Part] = {}
    for part in parts:
        key = part.step, part.bytes_per_cycle, part.note
        if key in found:
            one = found[key]
            cycles = None
            if one.cycles is not None and part.cycles is not None:
                cycles = one.cycles + part.cycles
            part = dataclasses.replace(
                one,
                calls=one.calls + part.calls,
                bytes=one.bytes + part.bytes,
                padding=one.padding + part.padding,
                cycles=cycles,
            )
        found[key] = part
    yield from found.values()
