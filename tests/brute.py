"""Nests and plans again, one element at a time: what their docstrings say, in loops."""

import itertools

import numpy as np

from ascjax._ends import Read, ReadRows, Write
from ascjax._gather import Gather
from ascjax._steps import Edge, Flip, Pad, Permute, Repeat, Split

KEEP, FILL = -1, -2


def writes(nest):
    """(destination, source or FILL) of every iteration, in order."""
    found = []
    for index in itertools.product(*(range(loop.extent) for loop in nest.loops)):
        dst, src, outside = nest.dst_start, nest.src_start, False
        for loop, i in zip(nest.loops, index, strict=True):
            dst += loop.dst_stride * i
        for coord in nest.coords:
            value = coord.offset
            for term, i in zip(coord.terms, index, strict=True):
                value += term * i
            if coord.extent is not None and not 0 <= value < coord.extent:
                outside = outside or coord.outside == "fill"
                value = min(max(value, 0), coord.extent - 1)
            src += coord.stride * value
        found.append((dst, FILL if outside else src))
    return found


def index_of(nest, dst_size):
    """The index map of a nest as a list, a later write winning."""
    index = [KEEP] * dst_size
    for dst, src in writes(nest):
        index[dst] = src
    return index


def box(dims, start=0):
    """The elements of a box of (extent, stride) axes, in its shape."""
    at = np.full((1,) * len(dims), start)
    for axis, (extent, stride) in enumerate(dims):
        shape = [1] * len(dims)
        shape[axis] = extent
        at = at + stride * np.arange(extent).reshape(shape)
    return at


def plan_index(plan):
    """The index map that the steps of a plan mean, as a list."""
    out = np.full(plan.dst_size, KEEP)
    x = np.arange(plan.src_size)
    for step in plan.steps:
        match step:
            case Read():
                x = x[box(step.window.dims, step.window.start)]
            case ReadRows():
                x = x[box((*step.loose, *step.dims), step.start)]
            case Flip():
                x = np.flip(x, step.axes)
            case Pad():
                x = np.pad(x, step.widths, constant_values=FILL)
            case Edge():
                x = np.pad(x, step.widths, mode="edge")
            case Split():
                assert x.shape == step.before
                x = x.reshape(step.after)
            case Permute():
                x = x.transpose(step.order)
            case Repeat():
                x = np.broadcast_to(np.expand_dims(x, step.axes), step.shape)
            case Write():
                assert x.shape == step.window.extents
                out[box(step.window.dims, step.window.start)] = x
            case Gather():
                for k, row in enumerate(step.index.data.tolist()):
                    at = row * step.row + np.arange(step.row) if row >= 0 else row
                    out[k * step.row : (k + 1) * step.row] = at
    return out.tolist()
