"""How the oracle runs a rule: writes in order, bounds and overlap, nothing else."""

from __future__ import annotations

import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._errors import BoundsError, OverlapError, ParamError, SupportError

Fields = Mapping[str, Any]
Write = tuple[np.ndarray, np.ndarray]
Rule = Callable[..., Iterable[Write]]

FILL = -(2**62)
"""Stands among a rule's source indices where the padding value is written."""

INSTRUCTIONS: dict[str, Rule] = {}
"""The rules by name; `instruction` adds one."""


def instruction(name: str) -> Callable[[Rule], Rule]:
    """Registers a rule under `name`, in place of an earlier one of that name.

    A rule is a generator `fn(fields, bits)`: the C fields by name, absent ones read as
    0, and the width of an element. It yields pairs (destination index, source index) of
    1-D int64 arrays of one length, in the order of the writes, in elements from the
    operands' starts. A source index may be FILL. A rule whose result depends on them
    has keyword arguments `product` and `path`: the product's key in products.json, and
    the positions, such as "A1->A2"; each None where it is not given.

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

    def register(rule: Rule) -> Rule:
        INSTRUCTIONS[name] = rule
        return rule

    return register


def run(
    instruction: str, fields: Fields, bits: int,
    src: np.ndarray, dst: np.ndarray, *,
    src_offset: int = 0, dst_offset: int = 0, pad: Any = None, overlap: str = "error",
    product: str | None = None, path: str | None = None,
) -> np.ndarray:  # fmt: skip
    """One instruction, applied to a copy of `dst`.

    Shapes: `src` (s,), `dst` and the result (d,), in elements.

    Args:
      instruction: a name in INSTRUCTIONS.
      fields: the C fields by name; absent ones are 0.
      bits: the width of one element. An array's entry is one, whatever its own type.
      src, dst: the whole buffers.
      src_offset, dst_offset: where the operands start, in elements.
      pad: what is written as padding; None takes the field constantValue or padValue.
      overlap: "error", or "last" to let the last write to an element win.
      product, path: for rules whose result depends on them; see `instruction`.

    Returns: a new array like `dst`.
    Raises: SupportError for an unknown instruction, ParamError where the spec has no
      formula, BoundsError for a read or write outside a buffer, OverlapError for a
      second write to an element.
    Source: instructions.md, sections 1 to 7 and 9.

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
    require(bits in (4, 8, 16, 32, 64), who, "bits", "be 4, 8, 16, 32 or 64", bits)
    require(overlap in ("error", "last"), who, "overlap", "be error or last", overlap)
    shapes = src.shape, dst.shape
    require(src.ndim == dst.ndim == 1, who, "src and dst", "be 1-D", shapes)

    exact = {k: v.item() if isinstance(v, np.generic) else v for k, v in fields.items()}
    if pad is None:
        pad = exact.get("constantValue", exact.get("padValue", 0))
    out = dst.copy()
    written, last = np.zeros(dst.size, bool), np.zeros(dst.size, np.int64)
    left = iter(writes(who, exact, bits, product=product, path=path))
    while batch := list(itertools.islice(left, 256)):  # for speed
        alike = all(to.shape == at.shape == (to.size,) for to, at in batch)
        to, at = (np.concatenate(side) for side in zip(*batch, strict=True))
        ok = alike and {to.dtype.kind, at.dtype.kind} <= {*"iO"}
        got = f"{to.size} of {to.dtype}, {at.size} of {at.dtype}"
        require(ok, who, "rule", "yield pairs of 1-D integer arrays", got)
        fill = at == FILL
        at = inside(who, "src", at[~fill], src_offset, src.size)
        to = inside(who, "dst", to, dst_offset, dst.size)
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


def writes(
    instruction: str, fields: Fields, bits: int,
    *, product: str | None = None, path: str | None = None,
) -> Iterable[Write]:  # fmt: skip
    """What the rule of an instruction yields, with the product and path that it asks
    for. Units: as the rule's own. Source: instructions.md, Units.

    >>> to, at = next(iter(writes("load2d", {"repeatTimes": 1}, 16)))
    >>> to.size
    256
    """
    rule = INSTRUCTIONS[instruction]
    site = {"product": product, "path": path}
    asked = inspect.signature(rule).parameters.keys() & site.keys()
    return rule(defaultdict(int, fields), bits, **{name: site[name] for name in asked})


def addresses(base: int, index: np.ndarray, stride: int = 1) -> np.ndarray:
    """base + index*stride, for an index below its own length, or one from here; in
    Python's integers where 64 bits might wrap (Load2DV2's ranges lead there).
    """
    if abs(base) + abs(stride) * index.size >= 2**62:
        index = index.astype(object)
    return base + index * stride


def inside(who: str, name: str, index: np.ndarray, offset: int, size: int):
    """An operand's indices as its buffer's, which must lie in [0, size)."""
    if index.size:
        low, high = int(index.min()) + offset, int(index.max()) + offset
        if low < 0 or high >= size:
            rule, got = f"hold element {low if low < 0 else high}", f"{size} elements"
            fix, source = "Enlarge it, or move less.", "instructions.md, Units"
            raise BoundsError(who, name, rule, got, fix, source)
    return index.astype(np.int64) + offset


def require(ok: bool, who: str, field: str, rule: str, got: Any, part: Any = "Units"):
    """Raise ParamError, for the spec's section `part`, unless `ok`."""
    if not ok:
        field = "".join("_" + c.lower() if c.isupper() else c for c in field)
        fix = "Give what the spec has a formula for."
        raise ParamError(who, field, rule, got, fix, f"instructions.md, section {part}")
