"""Planted faults: wrong behaviours, each with the check that must turn red.

A fault is planted by replacing one function or method of the package for a while.
`planted` also empties every cache on the way in and out, so that nothing compiled with
a fault outlives it.
"""

import contextlib
import dataclasses
import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax import (
    _call,
    _ends,
    _fill,
    _gather,
    _lowering,
    _move,
    _packed,
    _primitive,
    _steps,
)
from ascjax.instr import Params, _c_struct, load_data_with_transpose, nddma

FAULTS = {}


def fault(check, name, plant):
    """`plant`, a function of a monkeypatch, as the fault `name` that `check` finds."""
    FAULTS[name] = (check, plant)
    return plant


def forget():
    """Empty every cache of the package, and JAX's."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ascjax"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    jax.clear_caches()


@contextlib.contextmanager
def planted(plant):
    """The package with a fault in it; None plants nothing."""
    with pytest.MonkeyPatch.context() as patch:
        if plant is not None:
            plant(patch)
        forget()
        try:
            yield
        finally:
            patch.undo()
            forget()


# --- ways to plant


def instead(where, name, wrong):
    """`where.name` replaced by `wrong(original, *arguments)`."""

    def plant(patch):
        original = getattr(where, name)

        def replaced(*args):
            return wrong(original, *args)

        patch.setattr(where, name, replaced)

    return plant


def bend(cls, change):
    """Params whose nest is `change(params, site, nest)`."""

    def wrong(nest, self, site):
        return change(self, site, nest(self, site))

    return instead(cls, "nest", wrong)


def misread(cls, **fields):
    """Params whose nest is that of others: each field by a function of the params."""

    def wrong(nest, self, site):
        changed = {name: change(self) for name, change in fields.items()}
        return nest(dataclasses.replace(self, **changed), site)

    return instead(cls, "nest", wrong)


def step(nest, name, *, src=None, dst=None, extent=None):
    """A nest whose loop `name` takes other steps; its coordinate is its own."""
    k = [loop.name for loop in nest.loops].index(name)
    loops, coords = list(nest.loops), list(nest.coords)
    if dst is not None:
        loops[k] = dataclasses.replace(loops[k], dst_stride=dst)
    if extent is not None:
        loops[k] = dataclasses.replace(loops[k], extent=extent)
    if src is not None:
        coords[k] = dataclasses.replace(coords[k], stride=src)
    return dataclasses.replace(nest, loops=tuple(loops), coords=tuple(coords))


def loop(nest, name):
    """A loop and its coordinate, by the loop's name."""
    k = [x.name for x in nest.loops].index(name)
    return nest.loops[k], nest.coords[k]


def steps(change):
    """Plans of nests whose every step is `change(step)`; None leaves it out."""

    def wrong(lower, *args):
        plan = lower(*args)
        changed = (change(one) for one in plan.steps)
        kept = tuple(one for one in changed if one is not None)
        return dataclasses.replace(plan, steps=kept)

    return instead(_move, "lower_nest", wrong)


# --- Load2D

LOAD2D, V2 = asc.LoadData2DParams, asc.LoadData2DParamsV2

fault(
    "map",
    "load2d: the gap is read as a stride",
    bend(LOAD2D, lambda p, at, nest: step(nest, "i", dst=p.dst_gap * at.type.fractal)),
)
fault(
    "map",
    "load2d: one repeat too few",
    misread(LOAD2D, repeat_times=lambda p: max(p.repeat_times - 1, 0)),
)
fault("map", "load2d: addrMode is ignored", misread(LOAD2D, addr_mode=lambda p: 0))
fault(
    "map",
    "load2d: the transpose is left out",
    misread(LOAD2D, if_transpose=lambda p: False),
)
fault(
    "map",
    "load2d: the destination's step is used for the source",
    misread(LOAD2D, src_stride=lambda p: min(p.dst_gap + 1, 65535)),
)
fault(
    "map",
    "load2dv2: kStart is not multiplied by |srcStride|",
    bend(
        V2,
        lambda p, at, nest: dataclasses.replace(
            nest, src_start=(p.k_start_position + p.m_start_position) * at.type.fractal
        ),
    ),
)

for _said, _fields in (
    ("left and right padding are swapped", {
        "pad_list": lambda p: (p.pad_list[1], p.pad_list[0], *p.pad_list[2:])}),
    ("the steps of the filter are swapped", {
        "stride_w": lambda p: p.stride_h, "stride_h": lambda p: p.stride_w}),
    ("the window starts in column 0", {"k_start_pt": lambda p: 0}),
    ("the window starts in row 0", {"m_start_pt": lambda p: 0}),
    ("dilation is not looked at", {
        "dilation_filter_w": lambda p: 1, "dilation_filter_h": lambda p: 1}),
    ("enTranspose is not looked at", {"en_transpose": lambda p: False}),
):  # fmt: skip
    fault("map", f"load3dv2: {_said}", misread(asc.LoadData3DParamsV2, **_fields))


@functools.partial(fault, "map", "load2dv2: kStart is multiplied with srcStride's sign")
def _signed(patch):
    def signed(p, at, nest):
        more = p.k_start_position * (p.src_stride - abs(p.src_stride))
        return nest.shift(more * at.type.fractal, 0)

    bend(V2, signed)(patch)


fault(
    "map",
    "load2dv2: mStep and kStep are swapped",
    misread(V2, m_step=lambda p: p.k_step, k_step=lambda p: p.m_step),
)
fault(
    "map",
    "load2dv2: dstStride is read as a gap",
    misread(V2, dst_stride=lambda p: min(p.dst_stride + p.m_step, 65535)),
)

# --- LoadDataWithTranspose

SQUARES, SQUARES2 = asc.LoadData2dTransposeParams, asc.LoadData2dTransposeParamsV2


@functools.partial(fault, "map", "ldwt_v1: n is dropped from the source's stride")
def _stride(patch):
    def fractals(p, at, nest):
        sign = -1 if p.addr_mode else 1
        return step(nest, "i", src=sign * p.src_stride * at.type.fractal)

    bend(SQUARES, fractals)(patch)


fault(
    "map",
    "ldwt_v1: n is dropped from the start",
    bend(
        SQUARES,
        lambda p, at, nest: dataclasses.replace(
            nest, src_start=p.start_index * at.type.fractal
        ),
    ),
)


@functools.partial(fault, "map", "ldwt: the halves of a square are swapped")
def _halves(patch):
    def swapped(p, at, nest):
        h, _ = loop(nest, "h")
        last = (h.extent - 1) * h.dst_stride
        return step(nest.shift(0, last), "h", dst=-h.dst_stride)

    bend(SQUARES, swapped)(patch)


@functools.partial(fault, "map", "ldwt: the blocks of a square are not transposed")
def _untransposed(patch):
    def straight(p, at, nest):
        row, column = loop(nest, "r")[1].stride, loop(nest, "c")[1].stride
        return step(step(nest, "r", src=column), "c", src=row)

    bend(SQUARES, straight)(patch)


fault(
    "map",
    "ldwt: a square has one fractal whatever the type",
    instead(load_data_with_transpose, "fractals_in_square", lambda original, bits: 1),
)
fault(
    "map",
    "ldwt_v2: srcFracGap is dropped",
    misread(SQUARES2, src_frac_gap=lambda p: 0),
)
fault(
    "map",
    "ldwt_v2: dstFracGap is dropped",
    misread(SQUARES2, dst_frac_gap=lambda p: 0),
)

# --- NZ2ND

NZ = asc.Nz2NdParamsFull


@functools.partial(fault, "map", "nz2nd: the columns are C0 wide instead of 16")
def _narrow(patch):
    def narrow(p, at, nest):
        c0 = at.type.c0
        nest = step(nest, "b", extent=p.d_value // c0, src=p.src_n_stride * c0, dst=c0)
        return step(step(nest, "c", extent=c0), "r", src=c0)

    bend(NZ, narrow)(patch)


fault(
    "map",
    "nz2nd: the source's matrix stride counts elements",
    bend(NZ, lambda p, at, nest: step(nest, "nd", src=p.src_nd_matrix_stride)),
)
fault(
    "map",
    "nz2nd: the destination's two strides are swapped",
    misread(
        NZ,
        dst_d_stride=lambda p: p.dst_nd_matrix_stride or 1,
        dst_nd_matrix_stride=lambda p: p.dst_d_stride or 1,
    ),
)

# --- ND2NZ, DataCopy, DataCopyPad

ROWS, RUNS, BYTES = asc.Nd2NzParams, asc.DataCopyParams, asc.DataCopyExtParams

fault(
    "map",
    "nd2nz: the last column is not filled up",
    misread(ROWS, d_value=lambda p: p.d_value // 64 * 64),
)
fault(
    "map",
    "nd2nz: the distance of rows is taken as 1",
    misread(ROWS, dst_nz_n_stride=lambda p: 1),
)
fault(
    "map",
    "nd2nz: the matrix stride counts blocks",
    bend(
        ROWS,
        lambda p, at, nest: step(nest, "nd", dst=p.dst_nz_matrix_stride * at.type.c0),
    ),
)
fault(
    "map",
    "data_copy: a gap is read as a stride",
    bend(RUNS, lambda p, at, nest: step(nest, "i", dst=p.dst_gap * at.type.c0)),
)
fault(
    "map",
    "data_copy_pad: the gaps' units are swapped",
    misread(BYTES, src_stride=lambda p: p.dst_stride * 4, dst_stride=lambda p: 0),
)


@functools.partial(fault, "map", "4-bit types are not counted in pairs")
def _unpaired(patch):
    patch.setattr(ROWS, "pairs", False)


# --- NDDMA

NDDMA = asc.NdDmaParams


def info(**lists):
    """NDDMA whose lists are those of other fields of its loop info."""
    return misread(
        NDDMA,
        loop_info=lambda p: dataclasses.replace(
            p.loop_info,
            **{name: getattr(p.loop_info, other) for name, other in lists.items()},
        ),
    )


def config(**values):
    return misread(NDDMA, config=lambda p: dataclasses.replace(p.config, **values))


fault(
    "map",
    "nddma: the config's padding is ignored",
    config(loop_lp_size=0xFFFF, loop_rp_size=0xFFFF),
)
fault(
    "map",
    "nddma: left padding goes on the right",
    info(loop_lp_size="loop_rp_size", loop_rp_size="loop_lp_size"),
)
fault(
    "map",
    "nddma: nearest mode pads with the constant",
    config(is_nearest_value_mode=False),
)


@functools.partial(fault, "map", "nddma: the nearest element is one too far in")
def _clamp(patch):
    def nearer(coord):
        if coord.outside != "clamp":
            return coord
        return dataclasses.replace(coord, extent=max(coord.extent - 1, 1))

    def clamped(p, at, nest):
        return dataclasses.replace(nest, coords=tuple(map(nearer, nest.coords)))

    bend(NDDMA, clamped)(patch)


@functools.partial(fault, "map", "nddma: the data, not the corner, stands at the start")
def _corner(patch):
    def moved(p, at, nest):
        strides = p.loop_info.loop_dst_stride
        left = [lp * s for (lp, _), s in zip(p.padding(), strides, strict=True)]
        return nest.shift(0, -sum(left))

    bend(NDDMA, moved)(patch)


# --- maps and plans


@functools.partial(fault, "map", "in a sequence the earlier write wins")
def _earlier(patch):
    right = asc.Move.index_map.func

    def wrong(self):
        return right(dataclasses.replace(self, calls=self.calls[::-1]))

    bent = functools.cached_property(wrong)
    bent.__set_name__(asc.Move, "index_map")
    patch.setattr(asc.Move, "index_map", bent)


@functools.partial(fault, "plan", "a plan transposes in another order")
def _order(patch):
    def turned(one):
        if not isinstance(one, _steps.Permute):
            return one
        return _steps.Permute(one.order[1:] + one.order[:1])

    steps(turned)(patch)


fault(
    "plan",
    "a plan forgets to walk backwards",
    steps(lambda one: None if isinstance(one, _steps.Flip) else one),
)
fault(
    "plan",
    "a plan pads with the constant instead of the nearest",
    steps(lambda one: _steps.Pad(one.widths) if isinstance(one, _steps.Edge) else one),
)


@functools.partial(fault, "plan", "a gather's rows are one off")
def _rows(patch):
    def wrong(lower, *args):
        plan = lower(*args)
        (gather,) = plan.steps
        rows = _gather.Rows(np.roll(gather.index.data, 1))
        return dataclasses.replace(
            plan, steps=(dataclasses.replace(gather, index=rows),)
        )

    instead(_lowering, "lower_map", wrong)(patch)


# --- what is refused


def widened(more):
    def wrong(in_range, who, field, value, low, high, unit, source):
        return in_range(who, field, value, low, high + more, unit, source)

    return instead(_c_struct, "in_range", wrong)


fault("refusal", "a range is one too wide", widened(1))
fault("refusal", "a range is one too narrow", widened(-1))
fault(
    "refusal",
    "alignment counts elements instead of bytes",
    instead(
        _call,
        "_check_alignment",
        lambda check, params, at, field, offset: check(
            params, at, field, offset * 8 // at.type.bits
        ),
    ),
)


@functools.partial(fault, "refusal", "overlap is not checked")
def _overlap(patch):
    for cls in (Params, NDDMA):
        patch.setattr(cls, "check_overlap", lambda *args: None)


fault(
    "refusal",
    "interleaving is not checked",
    lambda patch: patch.setattr(NDDMA, "check_overlap", Params.check_overlap),
)
fault(
    "refusal",
    "bounds let one element past the end",
    instead(
        _call,
        "check_bounds",
        lambda check, nest, src_size, dst_size, *rest: check(
            nest, src_size + 1, dst_size + 1, *rest
        ),
    ),
)
fault(
    "refusal",
    "support is not checked",
    instead(Params, "check_support", lambda check, params, at: None),
)


@functools.partial(fault, "refusal", "a NOP is checked for bounds")
def _nop(patch):
    def strict(check, nest, src_size, dst_size, who, *rest):
        check(nest, src_size, dst_size, who, *rest)
        if nest.src_start >= src_size:
            raise asc.BoundsError(who, "src", "hold the start", src_size, "Enlarge it.")

    instead(_call, "check_bounds", strict)(patch)


# --- what JAX runs


fault(
    "op",
    "the kept destination is zeroed",
    instead(
        _ends.Write,
        "write",
        lambda write, self, x, dst, lead, context: write(self, x, None, lead, context),
    ),
)


@functools.partial(fault, "op", "padding goes on the wrong side")
def _side(patch):
    def wrong(forward, self, *rest):
        return forward(_steps.Pad(tuple((b, a) for a, b in self.widths)), *rest)

    instead(_steps.Pad, "forward", wrong)(patch)


fault(
    "op",
    "one call's padding leaks into another's",
    instead(
        _primitive,
        "_fills",
        lambda fills, plan, dtype: fills(plan, dtype)[:1] * len(plan.fills),
    ),
)
fault(
    "op",
    "padding is a value, so that -0.0 becomes 0.0",
    instead(
        nddma,
        "fill_bits",
        lambda bits, constant, *rest: bits(
            _fill.Constant.of(constant.value + 0), *rest
        ),
    ),
)


@functools.partial(fault, "gradient", "a gather's inverse is one off")
def _inverse(patch):
    original = _gather.Gather._inverse.func
    wrong = functools.cached_property(lambda self: np.roll(original(self), 1, axis=0))
    wrong.__set_name__(_gather.Gather, "_inverse")
    patch.setattr(_gather.Gather, "_inverse", wrong)


@functools.partial(fault, "gradient", "a repeat's gradient is taken, not summed")
def _taken(patch):
    def wrong(x, axes, keepdims=False):
        for axis in reversed(axes):
            x = jnp.take(x, jnp.array([0]) if keepdims else 0, axis=axis)
        return x

    patch.setattr(_steps, "add_up", wrong)


fault(
    "gradient",
    "what was overwritten keeps its gradient",
    instead(_ends.Write, "keep", lambda keep, self, dst, lead, context: dst),
)
fault(
    "gradient",
    "a tangent takes the padding with it",
    instead(_primitive, "_without_fill", lambda without, plan: plan),
)
fault(
    "packed",
    "the low nibble is the odd one",
    instead(_packed, "unpack", lambda unpack, x: unpack(x >> 4 | x << 4)),
)
fault(
    "packed",
    "a move from an odd nibble runs as bytes",
    instead(
        _packed,
        "byte_nest",
        lambda whole, nest: whole(nest.shift(-(nest.src_start % 2), 0)),
    ),
)
