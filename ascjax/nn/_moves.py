"""Equinox modules: one call of an instruction on one product, all of it static."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import equinox as eqx
import jax

from .._dtypes import AscendType
from .._html import repr_html
from .._move import Call, Move, Overlap
from .._ops import check_params
from .._products import Product
from .._run import run_move
from ..instr import Params


class MoveModule(eqx.Module):
    """A checked call as a module; see the subclasses."""

    op: ClassVar[str]
    params: Params = eqx.field(static=True)
    product: Product | None = eqx.field(static=True)
    path: str | None = eqx.field(static=True)
    dtype: AscendType = eqx.field(static=True)
    src_size: int = eqx.field(static=True)
    dst_size: int = eqx.field(static=True)
    src_offset: int = eqx.field(static=True)
    dst_offset: int = eqx.field(static=True)
    overlap: Overlap = eqx.field(static=True)
    move: Move = eqx.field(static=True, repr=False)

    _repr_html_ = repr_html

    def __init__(
        self,
        params: Params,
        *,
        dtype: Any,
        src_size: int,
        dst_size: int | None = None,
        src_offset: int = 0,
        dst_offset: int = 0,
        product: Any = None,
        path: str | None = None,
        overlap: Overlap = "error",
        behaviour: str = "documented",
    ):
        check_params(self.op, None, params, ())
        call = Call(params, src_offset, dst_offset)
        move = Move.sequence(
            (call,),
            src_size=src_size,
            dst_size=dst_size,
            product=product,
            path=path,
            dtype=dtype,
            overlap=overlap,
            behaviour=behaviour,
        )
        self.params, self.move = params, move
        self.product, self.path, self.dtype = move.product, move.path, move.type
        self.src_size, self.dst_size = move.src_size, move.dst_size
        self.src_offset, self.dst_offset = call.src_offset, call.dst_offset
        self.overlap = move.overlap

    def __call__(
        self, src: Any, dst: Any = None, *, key: jax.Array | None = None
    ) -> jax.Array:
        """What the destination holds after the move.

        Shapes: `src` (..., src_size); `dst`, like the result, (..., dst_size), in
        elements, None for zero bits. `key` is ignored: `eqx.nn.Sequential` passes one.
        """
        return run_move(self.move, src, dst)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: params, product, path, type, sizes and offsets.

        Equinox's leaf serialisation writes nothing for a move, whose fields are all
        static; this does.
        """
        return {
            **self.params.to_dict(),
            "product": self.product.key if self.product else None,
            "path": self.path,
            "dtype": self.dtype.name,
            "src_size": self.src_size,
            "dst_size": self.dst_size,
            "src_offset": self.src_offset,
            "dst_offset": self.dst_offset,
            "overlap": self.overlap,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The module that `to_dict` described."""
        rest = {k: v for k, v in data.items() if k not in ("instruction", "fields")}
        return cls(Params.from_dict(data), **rest)


class LoadData(MoveModule):
    """`asc.load_data` as a module, checked when it is built.

    Args:
      params: `LoadData2DParams`, `LoadData2DParamsV2` or `LoadData3DParamsV2`.
      dtype: the Ascend C type, or the JAX type of the same values.
      src_size, dst_size: buffer sizes in elements; `dst_size` None is the span written.
      src_offset, dst_offset: where the operands start, in elements.
      product, path, overlap, behaviour: as for `asc.load_data`.
    Shapes: `module(src, dst=None)` takes (..., src_size) and (..., dst_size).
    Raises: as `load_data`, when the module is built.
    Gradient: as `load_data`; the module itself has no leaves to train.
    Source: Load2D; instructions.md, sections 1, 2 and 7.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.LoadData2DParams(repeat_times=5, src_stride=3)
    >>> load = asc.nn.LoadData(p, product=asc.ATLAS_A2, path="A1->A2", dtype="half",
    ...                        src_size=3840)
    >>> load(jnp.zeros((2, 3840), "float16")).shape
    (2, 1280)
    """

    op = "load_data"


class LoadDataWithTranspose(MoveModule):
    """`asc.load_data_with_transpose` as a module, checked when it is built.

    `params` is `LoadData2dTransposeParams` or `LoadData2dTransposeParamsV2`. Shapes,
    arguments, errors and gradient are as `nn.LoadData`.

    Source: LoadDataWithTranspose; instructions.md, section 3.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.LoadData2dTransposeParams(repeat_times=2, src_stride=1)
    >>> move = asc.nn.LoadDataWithTranspose(p, dtype="half", src_size=512)
    >>> move(jnp.arange(512, dtype="float16"))[:3]
    Array([ 0., 16., 32.], dtype=float16)
    """

    op = "load_data_with_transpose"


class DataCopy(MoveModule):
    """`asc.data_copy` as a module, checked when it is built.

    `params` is `Nz2NdParamsFull`, `NdDmaParams`, `Nd2NzParams` or `DataCopyParams`.
    Shapes, arguments, errors and gradient are as `nn.LoadData`.

    Source: NZ2ND and NDDMA; instructions.md, sections 4, 5, 6 and 9.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.Nz2NdParamsFull(1, 2, 32, 1, 2, 32, 1)
    >>> move = asc.nn.DataCopy(p, dtype="float", src_size=64)
    >>> move(jnp.arange(64.0))[14:18]
    Array([14., 15., 32., 33.], dtype=float32)
    """

    op = "data_copy"


class DataCopyPad(MoveModule):
    """`asc.data_copy_pad` as a module, checked when it is built.

    `params` is `DataCopyExtParams`. Shapes, arguments, errors and gradient are as
    `nn.LoadData`.

    Source: instructions.md, section 9.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.DataCopyExtParams(2, 20, 0, 4)
    >>> move = asc.nn.DataCopyPad(p, product="910B", path="UB->GM", dtype="float",
    ...                           src_size=16)
    >>> move(jnp.arange(16.0))[4:8]
    Array([4., 0., 8., 9.], dtype=float32)
    """

    op = "data_copy_pad"


class Fixpipe(MoveModule):
    """`asc.fixpipe` as a module, checked when it is built.

    `params` is `FixpipeParams`, `dtype` the type of L0C. Shapes, arguments, errors and
    gradient are as `nn.LoadData`; `dst` and the result have the type of what arrives.

    Source: instructions.md, section 8.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.FixpipeParams(2, 2, 16, 2, quant_pre="F322BF16", relu_en=True)
    >>> out = asc.nn.Fixpipe(p, product="910B", dtype="float", src_size=256)
    >>> out(jnp.arange(-1.0, 255.0))
    Array([0, 0, 15, 16], dtype=bfloat16)
    """

    op = "fixpipe"
