"""LoadData and LoadDataWithTranspose: instructions.md, sections 1 to 3."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ._machine import Fields, Write, addresses, instruction, require


@instruction("load2d")
def load2d(fields: Fields, bits: int) -> Iterator[Write]:
    """Load2D: fractals, one by one. Units: fractals. ParamError: ifTranspose where bits
    are not 16. Source: instructions.md, section 1.

    >>> from collections import defaultdict
    >>> to, at = next(load2d(defaultdict(int, startIndex=2, repeatTimes=1), 8))
    >>> int(to[0]), int(at[0]), to.size
    (0, 1024, 512)
    """
    flip, sign = fields["ifTranspose"], -1 if fields["addrMode"] else 1
    require(not flip or bits == 16, "load2d", "bits", "be 16 to transpose", bits, 1)
    C0, F = 256 // bits, 4096 // bits
    r, c = np.indices((16, C0)).reshape(2, F)
    for i in range(fields["repeatTimes"]):
        s = (fields["startIndex"] + sign * i * fields["srcStride"]) * F
        d = i * (fields["dstGap"] + 1) * F
        yield addresses(d, r * C0 + c), addresses(s, c * 16 + r if flip else r * C0 + c)


@instruction("load2dv2")
def load2dv2(fields: Fields, bits: int) -> Iterator[Write]:
    """Load2DV2: a tile of mStep x kStep fractals; with ifTranspose written row by row.
    Units: fractals. ParamError, with ifTranspose: 64 bits, or steps that do not fill
    whole squares. Source: instructions.md, section 2.

    >>> from collections import defaultdict
    >>> fields = defaultdict(int, mStep=2, kStep=2, srcStride=5, dstStride=2)
    >>> [(int(to[0]), int(at[0])) for to, at in load2dv2(fields, 16)]
    [(0, 0), (256, 256), (512, 1280), (768, 1536)]
    """
    mStep, kStep, srcStride = fields["mStep"], fields["kStep"], fields["srcStride"]
    C0, F = 256 // bits, 4096 // bits
    base = (fields["kStartPosition"] * abs(srcStride) + fields["mStartPosition"]) * F
    if not fields["ifTranspose"]:
        for j in range(kStep):
            for i in range(mStep):
                d, s = j * fields["dstStride"] + i, j * srcStride + i
                yield (
                    addresses(d * F, np.arange(F)),
                    addresses(base + s * F, np.arange(F)),
                )
        return
    require(bits < 64, "load2dv2", "bits", "be below 64", bits, 2)
    m, k = {4: (4, 1), 8: (2, 1), 16: (1, 1), 32: (1, 2)}[bits]
    for name, step, whole in (("mStep", mStep, m), ("kStep", kStep, k)):
        rule = f"be a multiple of {whole} with ifTranspose at {bits} bits"
        require(step % whole == 0, "load2dv2", name, rule, step, 2)
    c = np.arange(16 * mStep)
    row_dst = addresses(0, c // C0, fields["dstStride"] * F) + c % C0
    row_src = (c // 16) * F + (c % 16) * C0
    for r in range(C0 * kStep):  # (r, c) of T' is (c, r) of T: i = c // 16, j = r // C0
        d = (r // 16) * F + (r % 16) * C0
        s = base + (r // C0) * srcStride * F + r % C0
        yield addresses(d, row_dst), addresses(s, row_src)


@instruction("ldwt_v1")
def ldwt_v1(fields: Fields, bits: int) -> Iterator[Write]:
    """LoadDataWithTranspose V1. Units: squares for startIndex and srcStride, fractals
    for the gaps. ParamError: 64 bits. Source: instructions.md, section 3.

    >>> from collections import defaultdict
    >>> to, at = next(ldwt_v1(defaultdict(int, startIndex=1, repeatTimes=1), 8))
    >>> to[:3], at[:3]
    (array([0, 1, 2]), array([1024, 1056, 1088]))
    """
    return _squares("ldwt_v1", fields, bits, lambda start, n, f: start * n + f)


@instruction("ldwt_v2")
def ldwt_v2(fields: Fields, bits: int) -> Iterator[Write]:
    """LoadDataWithTranspose V2. Units: fractals. ParamError: 64 bits.
    Source: instructions.md, section 3.

    >>> from collections import defaultdict
    >>> to, at = next(ldwt_v2(defaultdict(int, startIndex=1, repeatTimes=1), 8))
    >>> to[:3], at[:3]
    (array([0, 1, 2]), array([512, 544, 576]))
    """
    gap = fields["srcFracGap"] + 1
    return _squares("ldwt_v2", fields, bits, lambda start, n, f: start + f * gap)


def _squares(who: str, fields: Fields, bits: int, fractal: Callable):
    """Both forms: fractal f of a square is the source's fractal(start, n, f)."""
    require(bits < 64, who, "bits", "be below 64", bits, 3)
    n = {4: 4, 8: 2, 16: 1, 32: 2}[bits]
    C0, F = 256 // bits, 4096 // bits
    axis = 1 if bits == 32 else 0  # side by side, or stacked
    inner = np.arange(F).reshape(16, C0)
    step = -fields["srcStride"] if fields["addrMode"] else fields["srcStride"]
    for i in range(fields["repeatTimes"]):
        start = fields["startIndex"] + i * step
        S = [addresses(fractal(start, n, f) * F, inner) for f in range(n)]
        T = np.concatenate(S, axis).T
        for h, block in enumerate(np.split(T, n, axis)):
            d = (i * (fields["dstGap"] + 1) + h * (fields["dstFracGap"] + 1)) * F
            yield addresses(d, inner).ravel(), block.ravel()
