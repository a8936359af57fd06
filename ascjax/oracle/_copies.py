"""DataCopy: instructions.md, sections 4 and 5."""

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
