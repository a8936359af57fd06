"""Mmad and Fixpipe: instructions.md, section 8."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._layouts import layout
from ._machine import Fields, Write, addresses, inside, instruction, require

# The product's l0a_format, where it is not ZZ: products.json.
_NZ = ("atlas_350",)


@instruction("fixpipe")
def fixpipe(fields: Fields, bits: int) -> Iterator[Write]:
    """Fixpipe: columns of 16 elements of L0C to rows, whatever `bits`. What the cast
    and relu make of a value is no part of the map. Units: elements, but 256 for
    srcNdStride and 16 for srcStride. Source: instructions.md, section 8.

    >>> from collections import defaultdict
    >>> sizes = {"nSize": 18, "mSize": 2, "srcStride": 16, "dstStride": 20}
    >>> rows = fixpipe(defaultdict(int, sizes), 32)
    >>> [(int(to[16]), int(at[16])) for to, at in rows]
    [(16, 256), (36, 272)]
    """
    c = np.arange(fields["nSize"])
    if not c.size:
        return
    row_src = addresses(0, c // 16, fields["srcStride"] * 16) + c % 16
    for nd in range(fields.get("ndNum", 1)):
        for r in range(fields["mSize"]):
            d = nd * fields["dstNdStride"] + r * fields["dstStride"]
            s = nd * fields["srcNdStride"] * 256 + r * 16
            yield addresses(d, c), addresses(s, row_src)


def mmad(
    fields: Fields, bits: int,
    l0a: np.ndarray, l0b: np.ndarray, l0c: np.ndarray, *,
    bias: np.ndarray | None = None, product: str | None = None,
) -> np.ndarray:  # fmt: skip
    """Mmad, one element of [m, n] after another, applied to a copy of `l0c`.

    Shapes: all flat, in elements, from the operands' starts.

    Args:
      fields: the C fields by name; cmatrixInitVal is 1 where absent, others 0.
      bits: the width of an element of L0A and L0B.
      l0a, l0b: whole values, in any of NumPy's number types.
      l0c: int64 for sums in int32, which wrap; float64 for sums without rounding.
      bias: the start value of each column, or None.
      product: its key in products.json, for the format of L0A.
    Returns: what L0C holds after, of the type of `l0c`.
    Raises: ParamError without a product, BoundsError for an operand that is too short.
    Source: instructions.md, section 8.

    >>> a, b, c = np.zeros(256), np.zeros(256), np.full(256, -1.0)
    >>> a[:3], b[:3] = (1, 2, np.nan), (10, 1, 5)  # row 0 of A, column 0 is b[0::1]
    >>> mmad({"m": 1, "n": 1, "k": 2}, 16, a, b, c, product="atlas_a2")[:2]
    array([12., -1.])
    """
    require(product is not None, "mmad", "product", "be given", product, 8)
    m, n, k = (fields.get(name, 0) for name in "mnk")
    out = l0c.copy()
    if 0 in (m, n, k):
        return out
    deep = -(-k // 16) * 16 if fields.get("kDirectionAlign") else k
    a_format = "NZ" if product in _NZ else "ZZ"
    at_a, _ = layout(a_format, (m, deep), bits)
    at_b, _ = layout("ZN", (deep, n), bits)
    at_c, _ = layout("NZ", (m, n), 32, (16, 16))
    for name, at, x in (("l0a", at_a, l0a), ("l0b", at_b, l0b), ("l0c", at_c, l0c)):
        inside("mmad", name, at, 0, x.size)
    for r in range(m):
        for c in range(n):
            total = out.dtype.type(0)
            if not fields.get("cmatrixInitVal", 1):
                total = l0c[at_c[r, c]]
            elif bias is not None:
                total = bias[c]
            x, y = l0a[at_a[r, :k]], l0b[at_b[:k, c]]
            total = total + np.dot(x.astype(out.dtype), y.astype(out.dtype))
            if out.dtype.kind == "i":
                total = (total + 2**31) % 2**32 - 2**31
            out[at_c[r, c]] = total
    return out
