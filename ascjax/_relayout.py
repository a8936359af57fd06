"""From one format of an array to another: one plan, from buffer to buffer.

Padding is never read: what stands in the source's padding does not arrive, and the
destination's padding is zero bits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from . import _packed
from ._ends import Read, Write
from ._formats import Digit, Digits, padded, strides
from ._lowering import lower_nest
from ._nest import Loop, LoopNest
from ._plan import Plan
from ._primitive import run
from ._steps import Pad, Permute, Split, Step
from ._window import Window, zeros

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Crop(Step):
    """Cut the end of axes off: `before` and `after` are the shapes."""

    before: Shape
    after: Shape
    wants_back = "bits"

    def forward(self, x, lead, context):
        return jax.lax.slice(x, (0,) * x.ndim, (*x.shape[:lead], *self.after))

    def backward(self, x, lead, context):
        whole = zeros((*x.shape[:lead], *self.before), x)
        return jax.lax.dynamic_update_slice(whole, x, (0,) * x.ndim)

    def __str__(self) -> str:
        return f"crop      {_times(self.before)} to {_times(self.after)}"


def _times(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def nest_between(src: Digits, dst: Digits, shape: Shape) -> LoopNest | None:
    """The move as one nest: a loop for each digit that the formats share.

    None where the source is padded, so that no stride walks through an axis, or where
    the two cut an axis into blocks of which neither holds a whole number of the other.
    """
    rank = len(shape)
    filled = padded(dst, rank)
    if padded(src, rank) != shape:
        return None
    loops, coords = [], []
    for axis, n in enumerate(shape):
        bounded = filled[axis] != n
        own = [d for d in src if d.axis == axis and d.extent > 1]
        if bounded and len(own) > 1:
            return None
        both = [d for d in dst if d.axis == axis and d.extent > 1]
        cuts = sorted({d.step for d in (both if bounded else own + both)})
        if any(b % a for a, b in itertools.pairwise(cuts)):
            return None
        terms = {}
        for k, (step, end) in enumerate(itertools.pairwise([*cuts, filled[axis]])):
            name = f"{_LETTERS.get(rank, _MANY)[axis % len(_MANY)]}{k}"
            loops.append(Loop(name, end // step, _stride(dst, axis, step)))
            terms[name] = step
        if bounded:
            coords.append((terms, _stride(src, axis, 1), 0, n, "fill"))
            continue
        for name, step in terms.items():
            coords.append(({name: 1}, _stride(src, axis, step)))
    loops.sort(key=lambda loop: -loop.dst_stride)
    return LoopNest.build(0, 0, loops, coords)


_LETTERS = {2: "rc", 4: "nchw"}
_MANY = [f"x{axis}_" for axis in range(64)]


def _stride(digits: Digits, axis: int, step: int) -> int:
    """Elements of the buffer between two values `step` apart of an axis."""
    own = [
        (d.step, d.extent, stride)
        for d, stride in zip(digits, strides(digits), strict=True)
        if d.axis == axis and d.step <= step
    ]
    unit, _, stride = max(own)
    return stride * (step // unit)


def plan_between(src: Digits, dst: Digits, shape: Shape, bits: int) -> Plan:
    """The plan of the move; `bits` is the width of an element."""
    sizes = _size(src), _size(dst)
    nest = nest_between(src, dst, shape)
    if nest is not None:
        return lower_nest(nest, *sizes, (0,), bits)
    return _stripped(src, dst, shape)


def _size(digits: Digits) -> int:
    return math.prod(digit.extent for digit in digits)


def _stripped(src: Digits, dst: Digits, shape: Shape) -> Plan:
    """The plan by way of whole axes: put together, cropped, padded, cut again."""
    rank = len(shape)
    # One digit an axis on one side: then that side's order needs no transpose.
    axes = list(dict.fromkeys(d.axis for d in (src if len(src) == rank else dst)))
    has, own, gets = (
        tuple(of[axis] for axis in axes)
        for of in (padded(src, rank), shape, padded(dst, rank))
    )
    src, dst = (tuple(d for d in side if d.extent > 1) for side in (src, dst))
    steps: list[Step] = [Read(_box(src))]
    order, parts = _by_axis(src, axes)
    steps += [Permute(order), Split(parts, has), Crop(has, own)]
    steps.append(Pad(tuple((0, g - n) for n, g in zip(own, gets, strict=True))))
    order, parts = _by_axis(dst, axes)
    back = tuple(order.index(k) for k in range(len(dst)))
    steps += [Split(gets, parts), Permute(back), Write(_box(dst))]
    idle = [
        Permute(tuple(range(len(src)))),
        Permute(tuple(range(len(dst)))),
        *(kind(of, of) for kind in (Split, Crop) for of in (has, own, gets)),
        Pad(((0, 0),) * rank),
    ]
    why = "padding is stripped: by way of whole axes"
    moving = tuple(step for step in steps if step not in idle)
    return Plan(moving, _size(src), _size(dst), (0,), why)


def _box(digits: Digits) -> Window:
    dims = tuple((d.extent, s) for d, s in zip(digits, strides(digits), strict=True))
    return Window(_size(digits), 0, dims)


def _by_axis(digits: Digits, axes: list[int]) -> tuple[Shape, Shape]:
    """The order that has each axis's digits together, and their extents in it."""

    def key(k: int) -> tuple:
        return axes.index(digits[k].axis), -digits[k].step, -digits[k].extent

    order = tuple(sorted(range(len(digits)), key=key))
    return order, tuple(digits[k].extent for k in order)


def in_bytes(
    src: Digits, dst: Digits, shape: Shape
) -> tuple[Digits, Digits, Shape] | None:
    """The same for pairs of 4-bit elements, where these stay together."""
    axis = src[-1].axis
    if axis != dst[-1].axis or shape[axis] % 2:
        return None
    halved = []
    for digits in (src, dst):
        if digits[-1].extent % 2:
            return None
        rest = [
            dataclasses.replace(d, step=d.step // 2) if d.axis == axis else d
            for d in digits[:-1]
        ]
        halved.append((*rest, Digit(axis, 1, digits[-1].extent // 2)))
    own = tuple(n // 2 if k == axis else n for k, n in enumerate(shape))
    return *halved, own  # pyright: ignore[reportReturnType]


Mover = Callable[[jax.Array], jax.Array]


def held_shape(shape: Shape, packed: bool) -> Shape:
    """The shape of an array that holds one of `shape`, its rows packed or not."""
    return (*shape[:-1], -(-shape[-1] // 2)) if packed else shape


def mover(
    src: Digits,
    dst: Digits,
    shape: Shape,
    bits: int,
    packed: bool,
    array_in: bool = False,
    array_out: bool = False,
) -> Mover:
    """The move, compiled: of flat buffers, or of arrays of `shape` on one side."""
    pairs = in_bytes(src, dst, shape) if packed else None
    plan = plan_between(*(pairs or (src, dst, shape)), 8 if pairs else bits)
    nibbles = packed and pairs is None

    def ascjax_relayout(x: jax.Array) -> jax.Array:
        lead = x.shape[: -len(shape)] if array_in else x.shape[:-1]
        if nibbles:
            x = _packed.unpack(x)[..., : shape[-1] if array_in else plan.src_size]
        x = run(plan, x.reshape(*lead, plan.src_size), None)
        if array_out:
            x = x.reshape(*lead, *held_shape(shape, packed and not nibbles))
        if nibbles:
            spare = [(0, 0)] * (x.ndim - 1) + [(0, x.shape[-1] % 2)]
            x = _packed.pack(jnp.pad(x, spare))
        return x

    return jax.jit(ascjax_relayout)
