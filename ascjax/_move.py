"""`Move`: calls of instructions, checked against product, path, type and sizes.

Everything that can be refused is refused here, in exact Python integers, before
anything runs.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Literal

import numpy as np

from ._dtypes import AscendType
from ._errors import AlignmentError, BoundsError, ParamError, SupportError
from ._index_map import IndexMap, check_bounds, check_indexable
from ._lowering import lower_map, lower_nest
from ._nest import FILL, KEEP, LoopNest
from ._plan import Plan
from ._products import POSITIONS, Product, product, resolve_path
from ._runs import Stated
from .instr import Params, Site
from .instr._convert import Conversion
from .instr._fields import static_int

Overlap = Literal["error", "last"]

# Bytes that an operand's start is a multiple of, by buffer (instructions.md, Units).
_SRC_ALIGN = {"GM": 1, "L1": 32, "UB": 32, "L0C": 1024}
_DST_ALIGN = {"GM": 1, "L1": 32, "UB": 32, "L0A": 512, "L0B": 512}


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of an instruction.

    Attributes:
      params: what to move.
      src_offset: where the source operand starts, in elements.
      dst_offset: where the destination operand starts, in elements.
    Raises:
      ParamError: an offset that is no integer.

    >>> import ascjax as asc
    >>> asc.Call(asc.LoadData2DParams(repeat_times=1), dst_offset=256).dst_offset
    256
    """

    params: Params
    src_offset: int = 0
    dst_offset: int = 0

    def __post_init__(self):
        if not isinstance(self.params, Params):
            rule, got = "be an instruction's params", type(self.params).__name__
            fix = "Make one first, such as asc.LoadData2DParams(...)."
            source = "instructions.md, Units"
            raise ParamError("Call", "params", rule, got, fix, source)
        for field in ("src_offset", "dst_offset"):
            value = _static(self.params, field, getattr(self, field))
            object.__setattr__(self, field, value)


def _static(params: Params, field: str, value: Any) -> int:
    """An offset or a size, in elements, as a Python int."""
    rule, source = "be an integer (elements)", "instructions.md, Units"
    number = static_int(params.instruction, field, value, rule, source)
    if number < 0 and field.endswith("_size"):
        rule, fix = "be at least 0 (elements)", "Give the buffer's length."
        raise BoundsError(params.instruction, field, rule, number, fix, source)
    return number


@dataclasses.dataclass(frozen=True)
class Move:
    """One call, or several in order on one destination, with everything resolved.

    Made by `Move.of` or `Move.sequence`, which check it.

    Attributes:
      calls: the calls, in order.
      product: the product, or None.
      path: "A1->A2" and the like, or None.
      type: the Ascend C type, as the calls count it.
      src_size: elements of the source.
      dst_size: elements of the destination.
      overlap: "error" or "last".

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(repeat_times=5, src_stride=3)
    >>> move = asc.Move.of(p, product="910B", path="L1->L0A", dtype="half",
    ...                    src_size=3840)
    >>> move.dst_size, move.path, len(move.index_map.index)
    (1280, 'A1->A2', 1280)
    """

    calls: tuple[Call, ...]
    product: Product | None
    path: str | None
    type: AscendType
    src_size: int
    dst_size: int
    overlap: Overlap = "error"

    @classmethod
    def of(
        cls,
        params: Params,
        *,
        src_size: int,
        dst_size: int | None = None,
        src_offset: int = 0,
        dst_offset: int = 0,
        product: Any = None,
        path: str | None = None,
        dtype: Any,
        overlap: Overlap = "error",
        behaviour: str = "documented",
    ) -> Move:
        """One call of an instruction, checked.

        Args:
          params: what to move.
          src_size, dst_size: buffer sizes, in elements; `dst_size` None is just the
            span that is written.
          src_offset, dst_offset: where the operands start, in elements.
          product: a `Product`, its name or an alias; None skips what depends on it.
          path: "A1->A2", or by buffers "L1->L0A"; None skips positions and alignment.
          dtype: the Ascend C type.
          overlap: "error" refuses two writes to one element, "last" lets the later win.
          behaviour: "documented"; "as_built" is reserved.
        Raises:
          ParamError, SupportError, BoundsError, AlignmentError, OverlapError.
        """
        return cls.sequence(
            (Call(params, src_offset, dst_offset),),
            src_size=src_size,
            dst_size=dst_size,
            product=product,
            path=path,
            dtype=dtype,
            overlap=overlap,
            behaviour=behaviour,
        )

    @classmethod
    def sequence(
        cls,
        calls: tuple[Call, ...],
        *,
        src_size: int,
        dst_size: int | None = None,
        product: Any = None,
        path: str | None = None,
        dtype: Any,
        overlap: Overlap = "error",
        behaviour: str = "documented",
    ) -> Move:
        """Several calls in order on one destination, each checked; the later call wins.

        Arguments and errors as for `Move.of`.
        """
        if not calls:
            fix = "Pass (params, src_offset, dst_offset) tuples."
            rule, source = "hold at least one call", "instructions.md, Units"
            raise ParamError("sequence", "calls", rule, "none", fix, source)
        who = calls[0].params.instruction
        check_option(who, "overlap", overlap, ("error", "last"))
        if behaviour == "as_built":
            raise SupportError(
                who,
                "behaviour",
                "be 'documented'",
                "'as_built'",
                "What chips do instead of the documents comes in a later release.",
                "errata.md, As built",
            )
        check_option(who, "behaviour", behaviour, ("documented",))
        src_size = _static(calls[0].params, "src_size", src_size)
        if dst_size is not None:
            dst_size = _static(calls[0].params, "dst_size", dst_size)
        where = None if product is None else _product(product, who)
        sites: dict[type[Params], Site] = {}
        for kind in dict.fromkeys(type(call.params) for call in calls):
            at = path
            if path is not None:
                at = resolve_path(path, (*kind.paths(),), kind.instruction, kind.source)
            sites[kind] = kind.site(where, at, dtype)
        first = sites[type(calls[0].params)]
        _check_units(sites, first.type)
        for call in calls:
            _check_conversion(call.params, calls[0].params, first.type)
        nests = _nests(calls, sites)
        if dst_size is None:
            ends = [nest.dst_range()[1] + 1 for nest in nests if nest.volume]
            dst_size = max(ends, default=0)
        proved: set[int] = set()
        for k, (call, nest) in enumerate(zip(calls, nests, strict=True)):
            name, source = call.params.instruction, call.params.source
            if len(calls) > 1:
                name += f", call {k}"
            check_bounds(nest, src_size, dst_size, name, source)
            if overlap == "error" and id(call.params) not in proved:
                proved.add(id(call.params))  # where it starts makes no difference
                call.params.check_overlap(sites[type(call.params)], nest)
        made = cls(calls, where, first.path, first.type, src_size, dst_size, overlap)
        vars(made)["nests"] = nests  # which the property would make again
        return made

    @functools.cached_property
    def conversion(self) -> Conversion | None:
        """What becomes of each value on its way; None where it arrives as it is."""
        return self.calls[0].params.conversion(self.type)

    @property
    def arrives(self) -> AscendType:
        """The type of what the destination holds."""
        return self.conversion.type if self.conversion else self.type

    @functools.cached_property
    def nests(self) -> tuple[Stated, ...]:
        """The loops or runs of each call, its operands' starts included."""
        site = Site(self.product, self.path, self.type)
        return _nests(self.calls, {type(call.params): site for call in self.calls})

    @functools.cached_property
    def nest(self) -> LoopNest | None:
        """All calls as one nest, or None where they are not one."""
        live = [nest for nest in self.nests if nest.volume] or self.nests[:1]
        return LoopNest.stack(live) if len(set(self.fills_by_call)) == 1 else None

    @functools.cached_property
    def fills_by_call(self) -> tuple[int, ...]:
        """The bits of each call's padding."""
        return tuple(call.params.fill_bits(self.type) for call in self.calls)

    @functools.cached_property
    def fills(self) -> tuple[int, ...]:
        """The bits of the paddings, each once: FILL is the first, FILL - 1 the next."""
        return tuple(dict.fromkeys(self.fills_by_call))

    @functools.cached_property
    def plan(self) -> Plan:
        """How JAX applies the calls: as one nest where they are one, else as a map."""
        if self.nest is not None:
            return lower_nest(
                self.nest, self.src_size, self.dst_size, self.fills, self.arrives.bits
            )
        return lower_map(self.index_map, self.fills)

    @functools.cached_property
    def index_map(self) -> IndexMap:
        """The map that all calls leave together."""
        check_indexable(self.src_size, self.dst_size, self.calls[0].params.instruction)
        index = np.full(self.dst_size, KEEP, np.int32)
        for nest, bits in zip(self.nests, self.fills_by_call, strict=True):
            if nest.volume:
                dst, src = nest.addresses()
                code = FILL - self.fills.index(bits)
                # Of a repeated index NumPy keeps the last value.
                index[dst] = src if code == FILL else np.where(src == FILL, code, src)
        return IndexMap(index, self.src_size)


def check_option(who: str, field: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise ParamError where `value` is not one of `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        rule, fix = f"be one of {', '.join(map(repr, allowed))}", "Use one of these."
        raise ParamError(who, field, rule, repr(value), fix, "instructions.md, Units")


def _check_units(sites: dict[type[Params], Site], by_first: AscendType) -> None:
    """Raise ParamError where calls on one destination count different units."""
    for kind, site in sites.items():
        if site.type != by_first:
            rule = f"count {by_first}, as the first call does"
            fix = "Make two moves of it."
            source = "instructions.md, section 6"
            raise ParamError(kind.instruction, "calls", rule, site.type, fix, source)


def _check_conversion(params: Params, first: Params, type: AscendType) -> None:
    """Raise ParamError where calls on one destination do unlike things to values."""
    if params.conversion(type) != first.conversion(type):
        rule = "do to values what the first call does"
        fix = "Make two moves of it."
        raise ParamError(params.instruction, "calls", rule, params, fix, params.source)


_product = product


def _nests(
    calls: tuple[Call, ...], sites: dict[type[Params], Site]
) -> tuple[Stated, ...]:
    """The nest or runs of each call, after every check but bounds and overlap.

    The same params, as in a loop of calls, are checked once.
    """
    stated: dict[int, Stated] = {}
    found = []
    for call in calls:
        params, site = call.params, sites[type(call.params)]
        if id(params) not in stated:
            params.check_support(site)
            params.rules(site)
            stated[id(params)] = params.nest(site)
        _check_starts(call, site)
        found.append(stated[id(params)].shift(call.src_offset, call.dst_offset))
    return tuple(found)


def _check_starts(call: Call, site: Site) -> None:
    """Raise where an operand starts before its buffer or off the alignment."""
    params = call.params
    for field, offset in (
        ("src_offset", call.src_offset),
        ("dst_offset", call.dst_offset),
    ):
        if offset < 0:
            fix = "Start inside the buffer."
            who, source = params.instruction, params.source
            raise BoundsError(
                who, field, "be at least 0 (elements)", offset, fix, source
            )
        if site.path is not None:
            _check_alignment(params, site, field, offset)


def _check_alignment(params: Params, site: Site, field: str, offset: int) -> None:
    src, dst = (site.path or "").split("->")
    position, table = (src, _SRC_ALIGN) if field[0] == "s" else (dst, _DST_ALIGN)
    buffer = POSITIONS[position]
    aligned = table.get(buffer, 1)
    bits = offset * site.type.bits
    if bits % (8 * aligned):
        raise AlignmentError(
            params.instruction,
            field,
            f"start on a multiple of {aligned} bytes in {position} ({buffer}): "
            f"{max(1, aligned * 8 // site.type.bits)} elements of {site.type}",
            f"{offset} elements, {bits / 8:g} bytes",
            "Move the operand's start to the boundary.",
            "General Address Alignment Restrictions",
        )
