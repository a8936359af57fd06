"""A matrix product on the road that a kernel takes: GM, L1, L0, Mmad, Fixpipe, GM."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..._dtypes import AscendType, ascend_type, of_array
from ..._errors import BoundsError
from ..._operands import SOURCE, as_array
from ..._products import Product
from ..._products import product as product_of
from ..._shardings import batched
from ...instr._fields import as_flag
from .._pipeline import Pipeline
from ._given import (
    WHO,
    check_batch,
    check_bytes,
    checked_product,
    checked_road,
    checked_size,
    checked_tile,
    checked_type,
)
from ._job import Job, side_of
from ._roads import Road, up
from ._room import Tile, check_l0c
from ._tiles import spans
from ._trace import traced


class CubeMatmul(eqx.Module):
    """A @ B by the calls that a kernel issues: GM to L1 to L0A and L0B, Mmad, Fixpipe.

    GM holds A as [m, k] and B as [k, n], row by row. The calls are chosen from the
    product's support tables: ND2NZ to L1; Load2D, Load2DV2, Load3DV2 or
    LoadDataWithTranspose to L0; B stands behind A in L1. Float products accumulate in
    float32, those of integers in int32.

    Args:
      product: atlas_a2, atlas_a3 or atlas_350.
      m, n, k: sizes of the product, in elements.
      dtype: the Ascend C type of A and B: what the product's Mmad and loads take of
        int4b_t, int8_t, half, bfloat16_t, float, fp8_e4m3fn_t and fp8_e5m2_t.
      transpose_a: GM holds A as [k, m].
      transpose_b: GM holds B as [n, k].
      tile: (bm, bn, bk), m, n, k of one tile; those at the edges are smaller. None is
        one tile for all of it. Mmad accumulates over the tiles of k in L0C, in order.
      a_road, b_road: calls of your own for one tile: a `Pipeline` or its stages, GM to
        L0A or L0B, on L1 from its start. They must land the matrix as Mmad reads it.
    Shapes: `module(a, b)` takes (..., m, k) and (..., k, n), or as GM holds them, and
      gives (..., m, n), float32 or int32; leading axes are a batch, and broadcast. Rows
      of 4-bit types start on whole bytes: an array of int4, or packed uint8 of
      ceil(columns / 2) bytes a row, a spare nibble last.
    Raises:
      SupportError: another product; a type, or a transpose of it, that the product has
        no instruction for.
      BoundsError: a tile that does not fit a buffer: it names the buffer, the bytes and
        a tile that fits; an array of another shape.
      ParamError: sizes that are no positive integers; tiles of 4-bit types that start
        inside a byte; a road that lands the matrix elsewhere; an array of another type.
    Gradient: as of A @ B, to both; integer types give float0.
    Source: instructions.md, sections 1 to 8; products.json, buffers_kib.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> mm = asc.nn.CubeMatmul("910B", 40, 50, 70, "half", transpose_b=True)
    >>> mm(jnp.ones((40, 70), "float16"), jnp.ones((50, 70), "float16"))[0, :3]
    Array([70., 70., 70.], dtype=float32)
    >>> [type(call.params).__name__ for move in mm.b.moves for call in move.calls]
    ['Nd2NzParams', 'LoadData2DParams']
    """

    product: Product = eqx.field(static=True)
    m: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    k: int = eqx.field(static=True)
    dtype: AscendType = eqx.field(static=True)
    transpose_a: bool = eqx.field(static=True)
    transpose_b: bool = eqx.field(static=True)
    tile: tuple[int, int, int] | None = eqx.field(static=True)
    a_road: Pipeline | None = eqx.field(static=True, repr=False)
    b_road: Pipeline | None = eqx.field(static=True, repr=False)
    job: Job = eqx.field(static=True, repr=False)

    def __init__(
        self,
        product: Any,
        m: int,
        n: int,
        k: int,
        dtype: Any,
        transpose_a: bool = False,
        transpose_b: bool = False,
        tile: Any = None,
        *,
        a_road: Any = None,
        b_road: Any = None,
    ):
        self.product = checked_product(product_of(product, WHO))
        self.m, self.n, self.k = sizes = tuple(
            checked_size(*given) for given in {"m": m, "n": n, "k": k}.items()
        )
        self.dtype = checked_type(ascend_type(dtype, WHO), self.product)
        self.transpose_a = as_flag(WHO, "transpose_a", transpose_a, SOURCE)
        self.transpose_b = as_flag(WHO, "transpose_b", transpose_b, SOURCE)
        self.tile = checked_tile(tile)
        m, n, k = (min(pair) for pair in zip(sizes, self.tile or sizes, strict=True))
        single = (m, n, k) == sizes
        options = {"product": self.product, "dtype": self.dtype}
        self.a_road = checked_road("a_road", a_road, single, options)
        self.b_road = checked_road("b_road", b_road, single, options)
        self.job = self._job((m, n, k), single)

    def _job(self, cut: tuple[int, int, int], single: bool) -> Job:
        """Every shape of tile, checked."""
        common = self.product, self.dtype
        a = Road("A", *common, cut[0], cut[2], self.transpose_a, self._pitch("A"))
        b = Road("B", *common, cut[1], cut[2], not self.transpose_b, self._pitch("B"))
        check_bytes(a, self.m, self.k)
        check_bytes(b, self.n, self.k)
        first = Tile(a, b)
        if self.a_road is None and self.b_road is None:
            first.check(single)
        sizes = (self.m, self.n, self.k)
        ms, ns, ks = (
            [span.size for span in spans(n, tile)]
            for n, tile in zip(sizes, cut, strict=True)
        )
        sides = [
            side_of(dataclasses.replace(a, rows=m, k=k), self.a_road, "a_road")
            for m, k in itertools.product(ms, ks)
        ]
        deep = {side.road.k: side.padded[1] for side in sides}
        others = [
            side_of(
                dataclasses.replace(b, rows=n, k=k),
                self.b_road,
                "b_road",
                sides[0].l1_bytes,
                deep[k],
            )
            for n, k in itertools.product(ns, ks)
        ]
        job = Job(*sizes, cut, tuple(sides), tuple(others))
        check_l0c(self.product, *job.accumulator)
        return job

    def _pitch(self, side: str) -> int:
        """Elements from one row of a matrix in GM to the next."""
        columns = self._shape(side)[1]
        return up(columns, 2) if self.dtype.bits == 4 else columns

    def _shape(self, side: str) -> tuple[int, int]:
        """Rows and columns of a matrix in GM."""
        if side == "A":
            return (self.k, self.m) if self.transpose_a else (self.m, self.k)
        return (self.n, self.k) if self.transpose_b else (self.k, self.n)

    @property
    def a(self) -> Pipeline:
        """A's road to L0A for the first tile."""
        return self.job.a[0].pipeline

    @property
    def b(self) -> Pipeline:
        """B's road to L0B for the first tile, behind A in L1."""
        return self.job.b[0].pipeline

    def __call__(
        self,
        a: Any,
        b: Any,
        *,
        fused: bool = True,
        trace: bool = False,
        key: jax.Array | None = None,
    ) -> Any:
        """A @ B; with `trace` what every buffer holds along the way, by name.

        Shapes: `a` (..., m, k) and `b` (..., k, n), or as GM holds them; the result
        (..., m, n). `fused` is one plan for each side from GM to L0; else the calls run
        one step at a time, with the same result. `trace` gives {name: `Held`} for A, B,
        L1, L0A, L0B, L0C and C; of several tiles {(i, j, p): {name: `Held`}}, tile i
        along m, j along n, p along k, C after the last p. `key` is ignored.
        """
        a, b = self._operand("a", a), self._operand("b", b)
        check_batch(a, b)
        if trace:
            return traced(self.job, a, b)
        whole = jnp.vectorize(self.job.multiply(fused), signature="(r,c),(s,d)->(m,n)")
        return batched(whole, 2)(a, b)

    def _operand(self, name: str, value: Any) -> jax.Array:
        """A matrix as GM holds it, 4-bit types packed."""
        array = as_array(WHO, name, value)
        _, packed = of_array(array.dtype, self.dtype, WHO, name)
        rows, columns = self._shape(name.upper())
        held = (rows, -(-columns // 2) if packed else columns)
        if array.ndim < 2 or array.shape[-2:] != held:
            unit = "bytes of two elements" if packed else "elements"
            rule = f"be {held} in its last axes ({unit} in the last one), as GM holds "
            rule += f"{name.upper()} with transpose_{name}="
            rule += str(self.transpose_a if name == "a" else self.transpose_b)
            fix = "Pass it so, or make the module for what you have."
            raise BoundsError(WHO, name, rule, array.shape, fix, SOURCE)
        if self.dtype.bits == 4 and not packed:
            spare = [(0, 0)] * (array.ndim - 1) + [(0, columns % 2)]
            nibbles = jnp.pad(array.astype("int8").astype("uint8") & 15, spare)
            return nibbles[..., 0::2] | nibbles[..., 1::2] << 4
        return array

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what the module was made of."""
        roads = {"a_road": self.a_road, "b_road": self.b_road}
        return {
            "product": self.product.key,
            "m": self.m,
            "n": self.n,
            "k": self.k,
            "dtype": self.dtype.name,
            "transpose_a": self.transpose_a,
            "transpose_b": self.transpose_b,
            "tile": list(self.tile) if self.tile else None,
            **{name: road and road.to_dict() for name, road in roads.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CubeMatmul:
        """The module that `to_dict` described."""
        roads = {
            name: Pipeline.from_dict(data[name])
            for name in ("a_road", "b_road")
            if data[name]
        }
        return CubeMatmul(**{**data, **roads})
