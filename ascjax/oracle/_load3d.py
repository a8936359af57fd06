"""LoadData with LoadData3DParamsV2: instructions.md, section 7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._machine import FILL, Fields, Write, instruction, require

# The product's l0a_format, where it is not ZZ: products.json.
_NZ = ("atlas_350",)

# "these six default to 1"
_ONES = ("strideW", "strideH", "filterW", "filterH")
_ONES += ("dilationFilterW", "dilationFilterH")


@instruction("load3dv2")
def load3dv2(
    fields: Fields, bits: int, *, product: str | None = None, path: str | None = None
) -> Iterator[Write]:
    """Load3DV2: a window of the im2col matrix, row by row. Units: elements; fractals
    for the repeat register's dstStride. ParamError: no product or path, a window or a
    filter that does not fit, a transpose of a width that has none. Source:
    instructions.md, section 7.

    >>> from collections import defaultdict
    >>> map_ = {"padList": [1, 0, 0, 0], "l1H": 1, "l1W": 4, "channelSize": 16}
    >>> window = {"kExtension": 32, "mExtension": 4, "filterW": 2}
    >>> fields = defaultdict(int, {**map_, **window})
    >>> to, at = next(load3dv2(fields, 16, product="atlas_a2", path="A1->A2"))
    >>> to[14:18], at[14:18] == FILL, int(at[16])
    (array([ 14,  15, 256, 257]), array([ True,  True, False, False]), 0)
    """
    who, C0, F = "load3dv2", 256 // bits, 4096 // bits
    for name, given in (("product", product), ("path", path)):
        require(given is not None, who, name, "be given", given, 7)
    left, right, top, bottom = fields["padList"] or (0, 0, 0, 0)
    l1H, l1W, channels = fields["l1H"], fields["l1W"], fields["channelSize"]
    strideW, strideH, filterW, filterH, dilationW, dilationH = (
        fields.get(name, 1) for name in _ONES
    )
    kw = filterW + 256 * fields["filterSizeW"]
    kh = filterH + 256 * fields["filterSizeH"]
    m, k = fields["mExtension"], fields["kExtension"]
    if 0 in (l1H, l1W, channels, m, k, kw, kh):
        return
    require(strideW > 0 < strideH, who, "strideW", "be at least 1", strideW, 7)
    wo = (l1W + left + right - ((kw - 1) * dilationW + 1)) // strideW + 1
    ho = (l1H + top + bottom - ((kh - 1) * dilationH + 1)) // strideH + 1
    require(wo > 0 < ho, who, "l1W", "leave room for the filter", (ho, wo), 7)
    require(channels % C0 == 0, who, "channelSize", f"be x {C0}", channels, 7)
    C1 = -(-channels // C0)
    mStart, kStart = fields["mStartPt"], fields["kStartPt"]
    ends = (mStart + m, kStart + k), (ho * wo, C1 * kh * kw * C0)
    inside = ends[0][0] <= ends[1][0] and ends[0][1] <= ends[1][1]
    require(inside, who, "mExtension", f"end inside {ends[1]}", ends[0], 7)

    transposed = path == "B1->B2" or bool(fields["enTranspose"])
    widths = (8, 16, 32) if product == "atlas_350" else (16, 32)
    ok = not transposed or path == "B1->B2" or bits in widths
    require(ok, who, "enTranspose", f"be false at {bits} bits", True, 7)
    rows, columns = (k, m) if transposed else (m, k)  # W is [R, C]
    nc = 2 * -(-columns // 16) if transposed and bits == 32 else -(-columns // C0)
    zz = path == "A1->A2" and product not in _NZ
    distance = -(-rows // 16)  # of columns of fractals, in NZ
    if product == "atlas_350":
        distance = (fields["repeat"] or {}).get("dstStride", 0)

    col = kStart + np.arange(k)
    blk, e = col // C0, col % C0
    c1, f = blk // (kh * kw), blk % (kh * kw)
    for r in range(m):
        y, x = divmod(mStart + r, wo)
        h = y * strideH + (f // kw) * dilationH - top
        w = x * strideW + (f % kw) * dilationW - left
        outside = (h < 0) | (h >= l1H) | (w < 0) | (w >= l1W)
        s = ((c1 * l1H + h) * l1W + w) * C0 + e
        row, column = np.full(k, r), np.arange(k)  # of W
        if transposed:
            row, column = column, row
        br, bc = row // 16, column // C0
        fractal = br * nc + bc if zz else bc * distance + br
        d = fractal * F + (row % 16) * C0 + column % C0
        yield d, np.where(outside, FILL, s)
