"""From a `LoopNest` or an `IndexMap` to a `Plan`: steps that JAX applies.

A plan is chosen from the loops alone and compares as a value, so that it can be tested
without a device. Structured moves become reshapes, transposes, slices, pads and
broadcasts; what is irregular becomes a gather of rows as long as the map allows.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ._ends import Read, ReadRows, Write
from ._gather import Gather, Rows
from ._index_map import IndexMap, check_indexable
from ._nest import KEEP, Coord, LoopNest
from ._plan import Plan
from ._simplify import simplify
from ._steps import Edge, Flip, Pad, Permute, Repeat, Split, Step, Sum
from ._window import Dims, Window, contiguous, nests, span

# Shorter runs than this many bytes are transposed, longer ones gathered as windows.
WINDOW_BYTES = 128

_INDEXED = 2**20  # elements of which a way back may hold an index


def lower_map(index_map: IndexMap, fills: tuple[int, ...] = (0,)) -> Plan:
    """A plan that gathers rows, as long as the map lets them be."""
    index = index_map.index.astype(np.int64)
    sizes = index_map.src_size, index_map.dst_size
    written = np.flatnonzero(index != KEEP)
    if written.size == 0:
        return Plan((), *sizes, fills, "every element is kept")
    index = index[: written[-1] + 1]  # the rest of the destination is kept whole
    # A run goes on while sources ascend by one, or while a code repeats.
    step = np.diff(index)
    same = np.where(index[:-1] < 0, step == 0, (step == 1) & (index[1:] > 0))
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    copied = index[starts][index[starts] >= 0]
    row = math.gcd(
        index.size, int(np.gcd.reduce(starts)), int(np.gcd.reduce(copied, initial=0))
    )
    rows = index[::row]
    rows = np.where(rows >= 0, rows // row, rows).astype(np.int32)
    why = f"no box of strides: rows of {row} by an index"
    return Plan((Gather(Rows(rows), row, *sizes),), *sizes, fills, why)


@dataclasses.dataclass(frozen=True)
class _Axis:
    """An axis of the source box: the loops it runs over and its padding."""

    loops: tuple[int, ...]
    extent: int  # elements inside
    stride: int
    before: int = 0
    after: int = 0
    outside: str = "none"


def lower_nest(
    nest: LoopNest,
    src_size: int,
    dst_size: int,
    fills: tuple[int, ...] = (0,),
    bits: int = 32,
    back: bool = True,
) -> Plan:
    """A plan of a nest, all inside its buffers: boxes of strides where it is that.

    `bits` is the width of an element: windows of WINDOW_BYTES and more are gathered.
    """
    if nest.volume == 0:
        return Plan((), src_size, dst_size, fills, "a count is zero: NOP")
    simple = simplify(nest)
    plan = _strided(simple, src_size, dst_size, fills, bits)
    if plan is not None:
        plan = _windows(simple, plan, bits, back) or plan
        return _apart(simple, plan) if back else plan
    return lower_map(IndexMap.of_nest(nest, src_size, dst_size), fills)


def _windows(nest: LoopNest, plan: Plan, bits: int, back: bool) -> Plan | None:
    """The same move as windows gathered in the destination's order.

    None where runs are short, where padding is, or where the source is read as it lies.
    """
    first = plan.steps[0]
    whole = isinstance(first, Read) and first.window.dense
    # bfloat16 is gathered as bits; a transpose of all of it can do without.
    if whole and (len(plan.steps) == 2 or bits == 16):
        return None
    write = plan.steps[-1]
    if any(c.extent is not None for c in nest.coords) or not isinstance(write, Write):
        return None
    order = _falling(nest)
    steps = nest.src_steps()
    run = order[-1] if len(order) > 1 else None
    if run is None or (nest.loops[run].dst_stride, steps[run]) != (1, 1):
        return None
    length = nest.loops[run].extent
    if length * bits < 8 * WINDOW_BYTES or plan.src_size >= 2**31:
        return None
    loose = tuple((nest.loops[k].extent, steps[k]) for k in order[:-1])
    start = nest.src_start + sum(c.stride * c.offset for c in nest.coords)
    read = ReadRows(plan.src_size, start, loose, ((length, 1),))
    return dataclasses.replace(
        plan,
        steps=(read, Write(write.window, length)),
        why=f"runs of {length} elements: gathered in the destination's order",
        back=_back(nest, plan, bits) if back else None,
    )


def _back(nest: LoopNest, plan: Plan, bits: int) -> Plan | None:
    """The move from the destination back to the source; None where windows overlap."""
    order = _falling(nest)
    steps = nest.src_steps()
    repeats = tuple(axis for axis, k in enumerate(order) if steps[k] == 0)
    start = nest.src_start + sum(c.stride * c.offset for c in nest.coords)
    rows, dst_step = [], 1
    first = 0
    for k in reversed(order):
        loop, src = nest.loops[k], steps[k]
        if src == 0:
            continue
        dst = dst_step if repeats else loop.dst_stride
        dst_step *= loop.extent
        if src < 0:
            start += src * (loop.extent - 1)
            first += dst * (loop.extent - 1)
            src, dst = -src, -dst
        rows.insert(0, (loop.name, loop.extent, dst, src))
    first += 0 if repeats else nest.dst_start
    inverse = LoopNest.strided(first, start, *rows)
    if not nests(_dims(inverse, _falling(inverse))):
        return None
    if not repeats:
        return lower_nest(inverse, plan.dst_size, plan.src_size, (0,), bits, False)
    box = Window(plan.dst_size, nest.dst_start, _dims(nest, order))
    kept = tuple(n for axis, (n, _) in enumerate(box.dims) if axis not in repeats)
    back = lower_nest(inverse, dst_step, plan.src_size, (0,), bits, False)
    summed = (Read(box), Sum(repeats), Split(kept, (dst_step,)))
    return dataclasses.replace(
        back, steps=(*summed, *back.steps), src_size=plan.dst_size
    )


def _apart(nest: LoopNest, plan: Plan) -> Plan:
    """The same plan, with a way back by an index where windows interleave, but read no
    element twice: the windows' own would add up what is one element and zeros."""
    first = plan.steps[0]
    indexed = isinstance(first, ReadRows) and not first.nests and plan.back is None
    if not indexed or max(nest.volume, plan.src_size) > _INDEXED:
        return plan
    index = IndexMap.of_nest(nest, plan.src_size, plan.dst_size).index
    to = np.flatnonzero(index >= 0)
    if np.unique(index[to]).size < to.size:
        return plan
    inverse = np.full(plan.src_size, KEEP, np.int32)
    inverse[index[to]] = to
    return dataclasses.replace(plan, back=lower_map(IndexMap(inverse, plan.dst_size)))


def _strided(
    nest: LoopNest, src_size: int, dst_size: int, fills: tuple[int, ...], bits: int
) -> Plan | None:
    """Read a box, pad, transpose, repeat, write a box; None where that is not it."""
    loops = nest.loops
    order = [k for k in _falling(nest) if loops[k].extent > 1]
    dst_dims = _dims(nest, order)
    axes = _axes(nest)
    if axes is None or not nests(dst_dims):
        return None
    there = [k for axis in axes for k in axis.loops if loops[k].extent > 1]
    permutation = tuple(there.index(k) for k in order if k in there)
    turned = permutation != tuple(range(len(there)))
    run = 0  # no transpose, no fence in front of it
    if turned:
        run = axes[-1].extent if axes[-1].loops == tuple(order[-1:]) else 1
    steps, why = _read(axes, _first(nest), src_size, run, bits)
    for mode, step in (("fill", Pad), ("clamp", Edge)):
        widths = tuple(
            (a.before, a.after) if a.outside == mode else (0, 0) for a in axes
        )
        if any(before or after for before, after in widths):
            steps.append(step(widths))
    padded = tuple(a.before + a.extent + a.after for a in axes)
    split = tuple(loops[k].extent for k in there)
    if split != padded:
        steps.append(Split(padded, split))
    if turned:
        steps.append(Permute(permutation))
    repeats = tuple(axis for axis, k in enumerate(order) if k not in there)
    if repeats:
        steps.append(Repeat(repeats, tuple(loops[k].extent for k in order)))
    steps.append(Write(Window(dst_size, nest.dst_start, dst_dims), run))
    return Plan(tuple(steps), src_size, dst_size, fills, why)


def _falling(nest: LoopNest) -> list[int]:
    """The loops by their step in the destination, the widest first."""
    return sorted(range(len(nest.loops)), key=lambda k: -nest.loops[k].dst_stride)


def _dims(nest: LoopNest, order: list[int]) -> Dims:
    return tuple((nest.loops[k].extent, nest.loops[k].dst_stride) for k in order)


def _read(
    axes: list[_Axis], start: int, src_size: int, run: int, bits: int
) -> tuple[list[Step], str]:
    """The steps that bring the source to one axis for each of `axes`."""
    start += sum(a.stride * (a.extent - 1) for a in axes if a.stride < 0)
    moving = [k for k, a in enumerate(axes) if a.stride and a.extent > 1]
    dims = tuple((axes[k].extent, abs(axes[k].stride)) for k in moving)
    steps: list[Step] = []
    loose = next(k for k in range(len(dims) + 1) if nests(dims[k:]))
    if loose:
        check_indexable(src_size, 0, "ascjax")
        steps.append(ReadRows(src_size, start, dims[:loose], dims[loose:]))
        why = "source windows overlap or interleave: gathered, the rest strided"
    elif blocks := _blocks(Window(src_size, start, dims), bits):
        steps.append(ReadRows(src_size, start, dims[:blocks], dims[blocks:]))
        why = f"blocks of {span(dims[blocks:])} elements: gathered, the rest strided"
    else:
        steps.append(Read(Window(src_size, start, dims), run))
        why = "boxes of strides on both sides"
    flips = tuple(n for n, k in enumerate(moving) if axes[k].stride < 0)
    if flips:
        steps.append(Flip(flips))
    still = tuple(k for k in range(len(axes)) if k not in moving)
    if still:
        steps.append(Repeat(still, tuple(a.extent for a in axes)))
    return steps, why


def _blocks(window: Window, bits: int) -> int:
    """How many axes of a window lead from one long block to the next; else 0.

    A slice would read up to all between them, and make a short last row up.
    """
    if window.dense or window.size >= 2**31:
        return 0
    dims = window.dims
    axes = next(k for k in range(len(dims) + 1) if contiguous(dims[k:]))
    return axes if span(dims[axes:]) * bits >= 8 * WINDOW_BYTES else 0


def _first(nest: LoopNest) -> int:
    """The source element that the first iteration inside every extent reads."""
    return nest.src_start + sum(
        c.stride * (c.offset if c.extent is None else max(c.offset, 0))
        for c in nest.coords
    )


def _axes(nest: LoopNest) -> list[_Axis] | None:
    """The source's axes, widest stride first; None where one is no dense counter."""
    axes, bounded = [], set()
    for coord in nest.coords:
        if coord.extent is not None:
            axis = _bounded_axis(nest, coord)
            if axis is None:
                return None
            axes.append(axis)
            bounded |= set(axis.loops)
    for k, stride in enumerate(nest.src_steps()):
        if stride and k in bounded:
            return None
        if stride and nest.loops[k].extent > 1:
            axes.append(_Axis((k,), nest.loops[k].extent, stride))
    return sorted(axes, key=lambda axis: -abs(axis.stride))


def _bounded_axis(nest: LoopNest, coord: Coord) -> _Axis | None:
    """A coordinate with an extent, as one axis over the loops that count it out."""
    loops = sorted(coord.loops(), key=lambda k: -coord.terms[k])
    count = 1
    for k in reversed(loops):
        if coord.terms[k] != count:
            return None
        count *= nest.loops[k].extent
    before = max(-coord.offset, 0)
    after = max(coord.offset + count - (coord.extent or 0), 0)
    inside = count - before - after
    if inside < 1 or not loops:
        return None
    return _Axis(tuple(loops), inside, coord.stride, before, after, coord.outside)
