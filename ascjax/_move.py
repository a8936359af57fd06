"""`Move`: calls of instructions, checked against product, path, type and sizes.

Everything that can be refused is refused here, in exact Python integers, before
anything runs.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Literal

import numpy as np

from ._call import Call, check_ends, check_starts, static
from ._dtypes import AscendType
from ._errors import ParamError, SupportError
from ._html import repr_html
from ._index_map import IndexMap, check_indexable
from ._lowering import lower_map, lower_nest
from ._nest import FILL, KEEP, LoopNest
from ._plan import Plan
from ._products import Product, product, resolve_path
from ._runs import Stated
from ._stack import stack
from .instr import Params, Site
from .instr._convert import Conversion

Overlap = Literal["error", "last"]


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

    _repr_html_ = repr_html

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
        aligned: bool = True,
    ) -> Move:
        """Several calls in order on one destination, each checked; the later call wins.

        Arguments and errors as for `Move.of`; without `aligned` operands may start
        anywhere, as those of a call that went wrong.
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
        src_size = static(calls[0].params, "src_size", src_size)
        if dst_size is not None:
            dst_size = static(calls[0].params, "dst_size", dst_size)
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
        nests = _nests(calls, sites, aligned)
        if dst_size is None:
            ends = [nest.dst_range()[1] + 1 for nest in nests if nest.volume]
            dst_size = max(ends, default=0)
        proved: set[int] = set()
        for k, (call, nest) in enumerate(zip(calls, nests, strict=True)):
            name, site = call.params.instruction, sites[type(call.params)]
            if len(calls) > 1:
                name += f", call {k}"
            check_ends(call, site, nest, src_size, dst_size, name)
            if overlap == "error" and id(call.params) not in proved:
                proved.add(id(call.params))  # where it starts makes no difference
                call.params.check_overlap(site, nest)
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
        return self.calls[0].params.arrives(self.type)

    @functools.cached_property
    def nests(self) -> tuple[Stated, ...]:
        """The loops or runs of each call, its operands' starts included."""
        site = Site(self.product, self.path, self.type)
        return _nests(self.calls, {type(call.params): site for call in self.calls})

    @functools.cached_property
    def nest(self) -> LoopNest | None:
        """All calls as one nest, or None where they are not one."""
        live = [nest for nest in self.nests if nest.volume] or self.nests[:1]
        return stack(live) if len(set(self.fills_by_call)) == 1 else None

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
    calls: tuple[Call, ...], sites: dict[type[Params], Site], aligned: bool = True
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
        # alignment is a matter of the path
        check_starts(call, site if aligned else Site(site.product, None, site.type))
        found.append(stated[id(params)].shift(call.src_offset, call.dst_offset))
    return tuple(found)
