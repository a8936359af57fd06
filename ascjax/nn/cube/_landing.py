"""Where a road lands a matrix in L0: the check of roads that users give."""

from __future__ import annotations

import itertools

import numpy as np

from ..._errors import ParamError
from ..._layout import Layout
from .._pipeline import Pipeline
from ._roads import Road, up


def landing(pipeline: Pipeline, road: Road, field: str) -> tuple[int, int]:
    """Rows and k of L0, padding included, in which the road lands the matrix.

    L0's fractals stand in the order of the side's buffer. Mmad takes any whole fractals
    of rows, and k padded to C0, or to 16 for 32-bit types.

    Raises:
      ParamError: the matrix does not land in any such form.
    """
    index = pipeline.joined.index_map.index
    r, c = (x.ravel() for x in np.indices((road.rows, road.k)))
    source = c * road.pitch + r if road.turned else r * road.pitch + c
    c0 = road.type.c0
    rows = range(up(road.rows, 16), up(road.rows, 64) + 1, 16)
    ks = dict.fromkeys((up(road.k, c0), up(road.k, max(16, c0))))
    for padded in itertools.product(rows, ks):
        at = Layout(road.format, padded, road.type).address(r, c)
        if at.max() < index.size and np.array_equal(index[at], source):
            return padded
    order = {"ZZ": "ZZ of [m, k]", "NZ": "NZ of [m, k]"}[road.format]
    order = order if road.side == "A" else "ZN of [k, n]"
    rule = f"bring all of {road.side} to L0{road.side} in the order that Mmad reads on "
    rule += f"{road.product}, {order}"
    got = _first_miss(index, road, source, r, c)
    fix = "Look at it with Pipeline.trace, or leave the road out."
    raise ParamError("CubeMatmul", field, rule, got, fix, "instructions.md, section 8")


def _first_miss(
    index: np.ndarray, road: Road, source: np.ndarray, r: np.ndarray, c: np.ndarray
) -> str:
    """Which element is not where it should be, in words."""
    at = Layout(road.format, road.padded, road.type).address(r, c)
    held = np.where(at < index.size, index[np.minimum(at, index.size - 1)], -1)
    k = int(np.flatnonzero(held != source)[0])
    where = f"L0{road.side} element {at[k]}"
    what = f"GM element {held[k]}" if held[k] >= 0 else "nothing"
    return (
        f"{what} in {where}, the place of row {r[k]}, k {c[k]}: GM element {source[k]}"
    )
