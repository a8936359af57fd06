"""The oracle: what each instruction does, in numpy loops to hold against the spec.

Written from instructions.md, sections 1 to 5 (and Units), formula by formula, with its
names (C0, F, n, i, j, h, r, c). It shares nothing with the engine but the classes of
the errors, so where the two agree, the agreement means something. A rule yields writes
in the order of the spec's iterations; `run` applies them and checks bounds and overlap,
nothing else. A NOP yields nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ._errors import BoundsError, OverlapError, ParamError, SupportError

_Fields = Mapping[str, Any]
_Write = tuple[np.ndarray, np.ndarray]
_Rule = Callable[[_Fields, int], Iterable[_Write]]

FILL = -(2**62)
"""Stands among a rule's source indices where the padding value is written."""

INSTRUCTIONS: dict[str, _Rule] = {}
"""The rules by name; `instruction` adds one."""


def instruction(name: str) -> Callable[[_Rule], _Rule]:
    """Registers a rule under `name`, in place of an earlier one of that name.

    A rule is a generator `fn(fields, bits)`: the C fields by name, absent ones read as
    0, and the width of an element. It yields pairs (destination index, source index) of
    1-D int64 arrays of one length, in the order of the writes, in elements from the
    operands' starts. A source index may be FILL.

    Args:
      name: the instruction's name in case files.
    Source: instructions.md, Units.

    >>> from ascjax import oracle
    >>> @oracle.instruction("reverse")
    ... def reverse(fields, bits):
    ...     i = np.arange(fields["count"])
    ...     yield i, fields["count"] - 1 - i
    >>> oracle.run("reverse", {"count": 3}, 16, np.arange(9), np.full(4, -1))
    array([ 2,  1,  0, -1])
    >>> del oracle.INSTRUCTIONS["reverse"]
    """

    def register(rule: _Rule) -> _Rule:
        INSTRUCTIONS[name] = rule
        return rule

    return register


def run(
    instruction: str, fields: _Fields, bits: int,
    src: np.ndarray, dst: np.ndarray, *,
    src_offset: int = 0, dst_offset: int = 0, pad: Any = None, overlap: str = "error",
) -> np.ndarray:  # fmt: skip
    """One instruction, applied to a copy of `dst`.

    Shapes: `src` (s,), `dst` and the result (d,), in elements.

    Args:
      instruction: a name in INSTRUCTIONS.
      fields: the C fields by name; absent ones are 0.
      bits: the width of one element. An array's entry is one, whatever its own type.
      src, dst: the whole buffers.
      src_offset, dst_offset: where the operands start, in elements.
      pad: what is written as padding; None takes the field constantValue.
      overlap: "error", or "last" to let the last write to an element win.

    Returns: a new array like `dst`.
    Raises: SupportError for an unknown instruction, ParamError where the spec has no
      formula, BoundsError for a read or write outside a buffer, OverlapError for a
      second write to an element.
    Source: instructions.md, sections 1 to 5.

    >>> from ascjax import oracle
    >>> src, dst = np.arange(512), np.full(512, -1)
    >>> fields = {"startIndex": 1, "repeatTimes": 1, "ifTranspose": True}
    >>> oracle.run("load2d", fields, 16, src, dst)[[0, 1, 2, 255, 256]]
    array([256, 272, 288, 511,  -1])
    >>> oracle.run("load2d", fields, 16, src[:300], dst)
    Traceback (most recent call last):
    ...
    ascjax._errors.BoundsError: load2d: src must hold element 511, got 300 elements. ...
    """
    who = instruction
    if who not in INSTRUCTIONS:
        rule, fix = f"be one of {', '.join(INSTRUCTIONS)}", "Add it with `instruction`."
        raise SupportError("oracle", "instruction", rule, repr(who), fix)
    _require(bits in (4, 8, 16, 32, 64), who, "bits", "be 4, 8, 16, 32 or 64", bits)
    _require(overlap in ("error", "last"), who, "overlap", "be error or last", overlap)
    shapes = src.shape, dst.shape
    _require(src.ndim == dst.ndim == 1, who, "src and dst", "be 1-D", shapes)

    exact = {k: v.item() if isinstance(v, np.generic) else v for k, v in fields.items()}
    pad = exact.get("constantValue", 0) if pad is None else pad
    out = dst.copy()
    written, last = np.zeros(dst.size, bool), np.zeros(dst.size, np.int64)
    writes = iter(INSTRUCTIONS[who](defaultdict(int, exact), bits))
    while batch := list(itertools.islice(writes, 256)):  # for speed
        alike = all(to.shape == at.shape == (to.size,) for to, at in batch)
        to, at = (np.concatenate(side) for side in zip(*batch, strict=True))
        ok = alike and {to.dtype.kind, at.dtype.kind} <= {*"iO"}
        got = f"{to.size} of {to.dtype}, {at.size} of {at.dtype}"
        _require(ok, who, "rule", "yield pairs of 1-D integer arrays", got)
        fill = at == FILL
        at = _inside(who, "src", at[~fill], src_offset, src.size)
        to = _inside(who, "dst", to, dst_offset, dst.size)
        last[to] = number = np.arange(to.size)  # of repeated indices the last counts
        again = to[written[to] | (last[to] != number)]
        written[to] = True
        if again.size and overlap == "error":
            rule, got = "be written once per element", f"element {again[0]} twice"
            fix = 'Change the strides or gaps, or ask for overlap="last".'
            raise OverlapError(who, "dst", rule, got, fix, "instructions.md, Units")
        values = np.empty(to.size, dst.dtype)
        values[~fill] = src[at]
        if fill.any():  # else pad need not fit dst's type
            values[fill] = pad
        out[to] = values
    return out


@instruction("load2d")
def load2d(fields: _Fields, bits: int) -> Iterator[_Write]:
    """Load2D: fractals, one by one. Units: fractals. ParamError: ifTranspose where bits
    are not 16. Source: instructions.md, section 1.

    >>> to, at = next(load2d(defaultdict(int, startIndex=2, repeatTimes=1), 8))
    >>> int(to[0]), int(at[0]), to.size
    (0, 1024, 512)
    """
    flip, sign = fields["ifTranspose"], -1 if fields["addrMode"] else 1
    _require(not flip or bits == 16, "load2d", "bits", "be 16 to transpose", bits, 1)
    C0, F = 256 // bits, 4096 // bits
    r, c = np.indices((16, C0)).reshape(2, F)
    for i in range(fields["repeatTimes"]):
        s = (fields["startIndex"] + sign * i * fields["srcStride"]) * F
        d = i * (fields["dstGap"] + 1) * F
        yield _at(d, r * C0 + c), _at(s, c * 16 + r if flip else r * C0 + c)


@instruction("load2dv2")
def load2dv2(fields: _Fields, bits: int) -> Iterator[_Write]:
    """Load2DV2: a tile of mStep x kStep fractals; with ifTranspose written row by row.
    Units: fractals. ParamError, with ifTranspose: 64 bits, or steps that do not fill
    whole squares. Source: instructions.md, section 2.

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
                yield _at(d * F, np.arange(F)), _at(base + s * F, np.arange(F))
        return
    _require(bits < 64, "load2dv2", "bits", "be below 64", bits, 2)
    m, k = {4: (4, 1), 8: (2, 1), 16: (1, 1), 32: (1, 2)}[bits]
    for name, step, whole in (("mStep", mStep, m), ("kStep", kStep, k)):
        rule = f"be a multiple of {whole} with ifTranspose at {bits} bits"
        _require(step % whole == 0, "load2dv2", name, rule, step, 2)
    c = np.arange(16 * mStep)
    row_dst = _at(0, c // C0, fields["dstStride"] * F) + c % C0
    row_src = (c // 16) * F + (c % 16) * C0
    for r in range(C0 * kStep):  # (r, c) of T' is (c, r) of T: i = c // 16, j = r // C0
        d = (r // 16) * F + (r % 16) * C0
        s = base + (r // C0) * srcStride * F + r % C0
        yield _at(d, row_dst), _at(s, row_src)


@instruction("ldwt_v1")
def ldwt_v1(fields: _Fields, bits: int) -> Iterator[_Write]:
    """LoadDataWithTranspose V1. Units: squares for startIndex and srcStride, fractals
    for the gaps. ParamError: 64 bits. Source: instructions.md, section 3.

    >>> to, at = next(ldwt_v1(defaultdict(int, startIndex=1, repeatTimes=1), 8))
    >>> to[:3], at[:3]
    (array([0, 1, 2]), array([1024, 1056, 1088]))
    """
    return _squares("ldwt_v1", fields, bits, lambda start, n, f: start * n + f)


@instruction("ldwt_v2")
def ldwt_v2(fields: _Fields, bits: int) -> Iterator[_Write]:
    """LoadDataWithTranspose V2. Units: fractals. ParamError: 64 bits.
    Source: instructions.md, section 3.

    >>> to, at = next(ldwt_v2(defaultdict(int, startIndex=1, repeatTimes=1), 8))
    >>> to[:3], at[:3]
    (array([0, 1, 2]), array([512, 544, 576]))
    """
    gap = fields["srcFracGap"] + 1
    return _squares("ldwt_v2", fields, bits, lambda start, n, f: start + f * gap)


def _squares(who: str, fields: _Fields, bits: int, fractal: Callable):
    """Both forms: fractal f of a square is the source's fractal(start, n, f)."""
    _require(bits < 64, who, "bits", "be below 64", bits, 3)
    n = {4: 4, 8: 2, 16: 1, 32: 2}[bits]
    C0, F = 256 // bits, 4096 // bits
    axis = 1 if bits == 32 else 0  # side by side, or stacked
    inner = np.arange(F).reshape(16, C0)
    step = -fields["srcStride"] if fields["addrMode"] else fields["srcStride"]
    for i in range(fields["repeatTimes"]):
        start = fields["startIndex"] + i * step
        S = [_at(fractal(start, n, f) * F, inner) for f in range(n)]
        T = np.concatenate(S, axis).T
        for h, block in enumerate(np.split(T, n, axis)):
            d = (i * (fields["dstGap"] + 1) + h * (fields["dstFracGap"] + 1)) * F
            yield _at(d, inner).ravel(), block.ravel()


@instruction("nz2nd")
def nz2nd(fields: _Fields, bits: int) -> Iterator[_Write]:
    """NZ2ND: columns of 16 elements to rows, whatever `bits`. Units: elements, but 256
    for srcNdMatrixStride and 16 for srcNStride. Source: instructions.md, section 4.

    >>> sizes = {"ndNum": 1, "nValue": 2, "dValue": 32}
    >>> rows = nz2nd(defaultdict(int, sizes, srcNStride=2, dstDStride=40), 16)
    >>> [(int(to[16]), int(at[16])) for to, at in rows]
    [(16, 32), (56, 48)]
    """
    c = np.arange(fields["dValue"])
    row_src = _at(0, c // 16, fields["srcNStride"] * 16) + c % 16
    for nd in range(fields["ndNum"]):
        for r in range(fields["nValue"]):
            d = nd * fields["dstNdMatrixStride"] + r * fields["dstDStride"]
            s = nd * fields["srcNdMatrixStride"] * 256 + r * 16
            yield _at(d, c), _at(s, row_src)


@instruction("nddma")
def nddma(fields: _Fields, bits: int) -> Iterator[_Write]:
    """NDDMA: a padded copy in 1 to 5 dimensions. Units: elements. `fields["config"]`,
    if any, has the nearest mode, and pads for every dimension unless they are 0xFFFF.
    ParamError: unequal lists, or not 1 to 5. Source: instructions.md, section 5.

    >>> lists = {"loopSrcStride": [1], "loopDstStride": [2], "loopSize": [2]}
    >>> to, at = next(nddma(defaultdict(int, lists, loopLpSize=[1]), 16))
    >>> to, at == FILL, at[1:]
    (array([0, 2, 4]), array([ True, False, False]), array([0, 1]))
    """
    dim = len(fields.get("loopSize", ()))
    _require(0 < dim < 6, "nddma", "loopSize", "have 1 to 5 entries", dim, 5)
    config = fields.get("config") or {}
    lists, pads = [], {"loopLpSize": [0] * dim, "loopRpSize": [0] * dim}
    for name in ("loopSize", "loopSrcStride", "loopDstStride", *pads):
        own, every = fields.get(name, pads.get(name, ())), config.get(name, 0xFFFF)
        _require(len(own) == dim, "nddma", name, f"have {dim} entries", len(own), 5)
        lists.append([int(v) for v in (own if every == 0xFFFF else [every] * dim)])
    size, srcStride, dstStride, lp, rp = lists
    nearest = config.get("isNearestValueMode", fields.get("isNearestValueMode"))
    if 0 in size:
        return
    width = [lp[a] + size[a] + rp[a] for a in range(dim)]
    reach = max(width) * sum(map(abs, srcStride + dstStride))
    kind = np.int64 if reach < 2**62 else object  # as in _at
    for first in range(0, count := math.prod(width), 4096):
        rest = np.arange(first, min(first + 4096, count)).astype(kind)
        d, s, fill = 0 * rest, 0 * rest, rest < 0
        for a in range(dim):  # x is x[a], counting up with index 0 the fastest
            rest, x = rest // width[a], rest % width[a]
            y = np.clip(x - lp[a], 0, size[a] - 1)
            d, s = d + x * dstStride[a], s + y * srcStride[a]
            fill = fill | (y != x - lp[a])
        yield d, s if nearest else np.where(fill, FILL, s)


def _at(base: int, index: np.ndarray, stride: int = 1) -> np.ndarray:
    """base + index*stride, for an index below its own length, or one from here; in
    Python's integers where 64 bits might wrap (Load2DV2's ranges lead there).
    """
    if abs(base) + abs(stride) * index.size >= 2**62:
        index = index.astype(object)
    return base + index * stride


def _inside(who: str, name: str, index: np.ndarray, offset: int, size: int):
    """An operand's indices as its buffer's, which must lie in [0, size)."""
    if index.size:
        low, high = int(index.min()) + offset, int(index.max()) + offset
        if low < 0 or high >= size:
            rule, got = f"hold element {low if low < 0 else high}", f"{size} elements"
            fix, source = "Enlarge it, or move less.", "instructions.md, Units"
            raise BoundsError(who, name, rule, got, fix, source)
    return index.astype(np.int64) + offset


def _require(ok: bool, who: str, field: str, rule: str, got: Any, part: Any = "Units"):
    if not ok:
        field = "".join("_" + c.lower() if c.isupper() else c for c in field)
        fix = "Give what the spec has a formula for."
        raise ParamError(who, field, rule, got, fix, f"instructions.md, section {part}")
