"""Cycles of Mmad, by the vendor's formula."""

from __future__ import annotations

from typing import Any

from .._dtypes import AscendType, ascend_type
from .._errors import ParamError, SupportError
from .._products import Product
from .._products import product as product_of
from ..nn.cube._roads import up
from ._rates import ARCHITECTURES, SOURCE, WHO

_DEPTH = {4: 64, 8: 32, 16: 16}
_DEPTH_OF_FLOAT = {(2201, False): 4, (3510, False): 1, (3510, True): 8}


def depth(type: AscendType, product: Product, hf32: bool) -> int:
    """How much of k one cycle multiplies, of a block of 16 x 16.

    Raises:
      SupportError: where the vendor does not say.
    """
    if product.npu_arch not in ARCHITECTURES:
        rule = "be one whose figures are published (NPU_ARCH 2201 or 3510)"
        fix = "There are none for others: atlas_a2, atlas_a3 and atlas_350 have them."
        raise SupportError(WHO, "product", rule, product, fix, SOURCE)
    if hf32 and (type.name, product.npu_arch) != ("float", 3510):
        rule, fix = "be False but for float on NPU_ARCH 3510", "Leave it out."
        raise SupportError(WHO, "hf32", rule, f"True for {type}", fix, SOURCE)
    if type.bits != 32:
        return _DEPTH[type.bits]
    return _DEPTH_OF_FLOAT[product.npu_arch, hf32]


def mmad(
    m: Any,
    n: Any,
    k: Any,
    *,
    dtype: Any,
    product: Any,
    hf32: bool = False,
    head: Any = 0,
) -> Any:
    """Cycles of one Mmad of [m, k] and [k, n].

    Args:
      m, n, k: integers, Python's or traced.
      dtype: the Ascend C type of both sources, of 4 to 32 bits.
      product: one of NPU_ARCH 2201 or 3510.
      hf32: float in HF32 mode, on 3510.
      head: cycles before the first result; the vendor names it, without a number.
    Returns: ceil16(m) * ceil16(n) * ceil_C0(k) / (256 * depth) + head, an integer where
      `m`, `n`, `k` and `head` are.
    Raises:
      ParamError: a type that is wider than 32 bits.
      SupportError: a product, or a mode, without published figures.
    Gradient: none.
    Source: costs.md, [V].

    >>> import ascjax as asc
    >>> asc.cost.mmad(128, 128, 128, dtype="half", product="910B")
    512
    >>> asc.cost.mmad(128, 128, 128, dtype="float", product="910B", head=21)
    2069
    """
    where, type = product_of(product, WHO), ascend_type(dtype, WHO)
    if type.bits > 32:
        rule, fix = "be 4 to 32 bits wide", "Mmad multiplies no other."
        raise ParamError(WHO, "dtype", rule, type, fix, SOURCE)
    blocks = up(m, 16) // 16 * (up(n, 16) // 16)
    return blocks * (up(k, type.c0) // depth(type, where, hf32)) + head
