"""DataCopy and DataCopyPad: instructions.md, sections 4, 5, 6 and 9."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ._machine import FILL, Fields, Write, addresses, instruction, require


@instruction("nz2nd")
def nz2nd(fields: Fields, bits: int) -> Iterator[Write]:
    """NZ2ND: columns of 16 elements to rows, whatever `bits`. Units: elements, but 256
    for srcNdMatrixStride and 16 for srcNStride. Source: instructions.md, section 4.

    >>> from collections import defaultdict
    >>> sizes = {"ndNum": 1, "nValue": 2, "dValue": 32}
    >>> rows = nz2nd(defaultdict(int, sizes, srcNStride=2, dstDStride=40), 16)
    >>> [(int(to[16]), int(at[16])) for to, at in rows]
    [(16, 32), (56, 48)]
    """
    c = np.arange(fields["dValue"])
    row_src = addresses(0, c // 16, fields["srcNStride"] * 16) + c % 16
    for nd in range(fields["ndNum"]):
        for r in range(fields["nValue"]):
            d = nd * fields["dstNdMatrixStride"] + r * fields["dstDStride"]
            s = nd * fields["srcNdMatrixStride"] * 256 + r * 16
            yield addresses(d, c), addresses(s, row_src)


@instruction("nddma")
def nddma(fields: Fields, bits: int) -> Iterator[Write]:
    """NDDMA: a padded copy in 1 to 5 dimensions. Units: elements. `fields["config"]`,
    if any, has the nearest mode, and pads for every dimension unless they are 0xFFFF.
    ParamError: unequal lists, or not 1 to 5. Source: instructions.md, section 5.

    >>> from collections import defaultdict
    >>> lists = {"loopSrcStride": [1], "loopDstStride": [2], "loopSize": [2]}
    >>> to, at = next(nddma(defaultdict(int, lists, loopLpSize=[1]), 16))
    >>> to, at == FILL, at[1:]
    (array([0, 2, 4]), array([ True, False, False]), array([0, 1]))
    """
    dim = len(fields.get("loopSize", ()))
    require(0 < dim < 6, "nddma", "loopSize", "have 1 to 5 entries", dim, 5)
    config = fields.get("config") or {}
    lists, pads = [], {"loopLpSize": [0] * dim, "loopRpSize": [0] * dim}
    for name in ("loopSize", "loopSrcStride", "loopDstStride", *pads):
        own, every = fields.get(name, pads.get(name, ())), config.get(name, 0xFFFF)
        require(len(own) == dim, "nddma", name, f"have {dim} entries", len(own), 5)
        lists.append([int(v) for v in (own if every == 0xFFFF else [every] * dim)])
    size, srcStride, dstStride, lp, rp = lists
    nearest = config.get("isNearestValueMode", fields.get("isNearestValueMode"))
    if 0 in size:
        return
    width = [lp[a] + size[a] + rp[a] for a in range(dim)]
    reach = max(width) * sum(map(abs, srcStride + dstStride))
    kind = np.int64 if reach < 2**62 else object  # as in addresses
    for first in range(0, count := math.prod(width), 4096):
        rest = np.arange(first, min(first + 4096, count)).astype(kind)
        d, s, fill = 0 * rest, 0 * rest, rest < 0
        for a in range(dim):  # x is x[a], counting up with index 0 the fastest
            rest, x = rest // width[a], rest % width[a]
            y = np.clip(x - lp[a], 0, size[a] - 1)
            d, s = d + x * dstStride[a], s + y * srcStride[a]
            fill = fill | (y != x - lp[a])
        yield d, s if nearest else np.where(fill, FILL, s)


@instruction("nd2nz")
def nd2nz(fields: Fields, bits: int) -> Iterator[Write]:
    """ND2NZ: row by row, in columns of C0. Units: elements, but 32 bytes for
    dstNzC0Stride and dstNzNStride; bytes for 4 bits. Source: instructions.md,
    section 6.

    >>> from collections import defaultdict
    >>> sizes = {"ndNum": 1, "nValue": 1, "dValue": 9}
    >>> to, at = next(nd2nz(defaultdict(int, sizes, dstNzC0Stride=3), 32))
    >>> to[7:10], at[7:10].tolist() == [7, 8, FILL]
    (array([ 7, 24, 25]), True)
    """
    C0 = 32 // (max(bits, 8) // 8)
    dValue = fields["dValue"]
    require(
        fields["dstNzC0Stride"] or dValue <= C0,
        "nd2nz", "dstNzC0Stride", "be at least 1 for more than C0 columns", 0, 6,
    )  # fmt: skip
    if not dValue:
        return
    c = np.arange(-(-dValue // C0) * C0)  # b*C0 + e
    row_dst = addresses(0, c // C0, fields["dstNzC0Stride"] * C0) + c % C0
    for nd in range(fields["ndNum"]):
        for r in range(fields["nValue"]):
            d = nd * fields["dstNzMatrixStride"] + r * fields["dstNzNStride"] * C0
            s = nd * fields["srcNdMatrixStride"] + r * fields["srcDValue"]
            yield addresses(d, row_dst), np.where(c < dValue, addresses(s, c), FILL)


@instruction("data_copy")
def data_copy(fields: Fields, bits: int) -> Iterator[Write]:
    """DataCopy: one data block after another. Units: 32 bytes. Source: instructions.md,
    section 9.

    >>> from collections import defaultdict
    >>> fields = defaultdict(int, blockCount=2, blockLen=2, srcGap=1)
    >>> [(int(to[0]), int(at[0])) for to, at in data_copy(fields, 16)]
    [(0, 0), (16, 16), (32, 48), (48, 64)]
    """
    e = np.arange(256 // bits)
    d = s = 0
    if not fields["blockLen"]:
        return
    for _ in range(fields.get("blockCount", 1)):
        for _ in range(fields["blockLen"]):
            yield addresses(d * e.size, e), addresses(s * e.size, e)
            d, s = d + 1, s + 1
        d, s = d + fields["dstGap"], s + fields["srcGap"]


@instruction("data_copy_pad")
def data_copy_pad(fields: Fields, bits: int) -> Iterator[Write]:
    """DataCopyPad: GM to UB with `fields["padParams"]`, else UB to GM. Units: bytes for
    blockLen and the stride in GM, 32 bytes for the one in UB, elements for padding.
    ParamError: 4 bits, or bytes that are no whole elements. Source: instructions.md,
    section 9.

    >>> from collections import defaultdict
    >>> pad = {"isPad": True, "leftPadding": 1, "rightPadding": 1}
    >>> to, at = next(data_copy_pad(defaultdict(int, blockLen=4, padParams=pad), 16))
    >>> to, at == FILL, at[1:3]
    (array([0, 1, 2, 3]), array([ True, False, False,  True]), array([0, 1]))
    """
    require(bits >= 8, "data_copy_pad", "bits", "be at least 8", bits, 9)
    size, pad = bits // 8, fields.get("padParams")
    in_gm = "dstStride" if pad is None else "srcStride"
    for name in ("blockLen", in_gm):
        rule = f"be a multiple of {size} (bytes)"
        require(fields[name] % size == 0, "data_copy_pad", name, rule, fields[name], 9)
    length = fields["blockLen"]
    if not length:
        return
    before = after = 0  # bytes of padding
    if pad is not None and pad.get("isPad"):
        before, after = (size * pad.get(k, 0) for k in ("leftPadding", "rightPadding"))
    around = before + length + after
    blocks = around // 32 + (around % 32 > 0)
    gm = ub = 0  # the bytes at which a run starts
    data = np.arange(length // size)
    for _ in range(fields.get("blockCount", 1)):
        if pad is None:
            yield addresses(gm // size, data), addresses(ub // size, data)
            gm, ub = gm + length + fields["dstStride"], ub + 32 * blocks
            ub += 32 * fields["srcStride"]
            continue
        fill = [np.full(n // size, FILL) for n in (before, after)]
        at = np.concatenate([fill[0], addresses(gm // size, data), fill[1]])
        yield addresses(ub // size, np.arange(around // size)), at
        gm, ub = gm + length + fields["srcStride"], ub + 32 * blocks
        ub += 32 * fields["dstStride"]
