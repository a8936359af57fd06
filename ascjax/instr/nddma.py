"""NDDMA: up to five loops with padding, GM to UB (instructions.md, 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jax.core import Tracer

from .._dtypes import AscendType
from .._errors import OverlapError, ParamError
from .._fill import constant_of, fill_bits
from .._nest import Loop, LoopNest
from .._runs import Stated
from ._fields import as_flag, c_name, in_range, static_int
from ._params import CField, Params, Site

_ALL = (
    "bool int8_t uint8_t int16_t uint16_t half bfloat16_t int32_t uint32_t float "
    "complex32 int64_t uint64_t double complex64"
)
_WHO = "nddma"
LISTS = {
    "loop_src_stride": (2**40 - 1, "elements"),
    "loop_dst_stride": (2**20 - 1, "elements"),
    "loop_size": (2**20 - 1, "elements"),
    "loop_lp_size": (255, "padding elements on the left"),
    "loop_rp_size": (255, "padding elements on the right"),
}
UNSET_PAD = 0xFFFF


@dataclasses.dataclass(frozen=True)
class NdDmaLoopInfo:
    """`NdDmaLoopInfo<dim>`: one value a dimension in each list, the innermost first.

    Args:
      loop_src_stride: elements from one source element to the next, [0, 2^40).
      loop_dst_stride: elements from one destination element to the next, [0, 2^20).
      loop_size: elements, padding not counted, [0, 2^20); a 0 makes a NOP.
      loop_lp_size: padding elements before them, [0, 255]; None is 0 everywhere.
      loop_rp_size: padding elements after them, [0, 255]; None is 0 everywhere.
    Raises:
      ParamError: lists of different lengths, not 1 to 5 dimensions, or out of range.
    Source: NDDMA, Table 5; instructions.md, section 5.

    >>> import ascjax as asc
    >>> asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1)).dim
    2
    """

    loop_src_stride: tuple[int, ...]
    loop_dst_stride: tuple[int, ...]
    loop_size: tuple[int, ...]
    loop_lp_size: tuple[int, ...] | None = None
    loop_rp_size: tuple[int, ...] | None = None

    def __post_init__(self):
        source = "NDDMA, Table 5"
        length = None
        for name, (high, unit) in LISTS.items():
            value: Any = getattr(self, name)
            if value is None and name in ("loop_lp_size", "loop_rp_size"):
                value = (0,) * (length or 0)
            try:
                items = (value,) if isinstance(value, Tracer) else tuple(value)  # pyright: ignore
            except TypeError:
                rule = f"be a list of integers in [0, {high}] ({unit})"
                fix = "Give one value a dimension, the innermost first."
                raise ParamError(_WHO, name, rule, repr(value), fix, source) from None
            length = len(items) if length is None else length
            items_differ = len(items) != length
            if not 1 <= len(items) <= 5 or items_differ:
                raise ParamError(
                    _WHO,
                    name,
                    "have one value a dimension, 1 to 5 in every list",
                    f"{len(items)} values"
                    + (f" where loop_src_stride has {length}" if items_differ else ""),
                    "Give all lists one length; split a move of more dimensions.",
                    source,
                )
            checked = tuple(
                in_range(_WHO, f"{name}[{k}]", item, 0, high, unit, source)
                for k, item in enumerate(items)
            )
            object.__setattr__(self, name, checked)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.loop_size)


@dataclasses.dataclass(frozen=True)
class NdDmaConfig:
    """`NdDmaConfig`: how padding is filled, and one padding size for all dimensions.

    Args:
      is_nearest_value_mode: pad with the nearest element instead of the constant.
      loop_lp_size: left padding in every dimension, [0, 255], or 0xFFFF to leave the
        dimensions' own.
      loop_rp_size: the same on the right.
      asc_optimize: reserved, without effect.
    Raises:
      ParamError: a field out of range.
    Source: NDDMA, Table 3; instructions.md, section 5.

    >>> import ascjax as asc
    >>> asc.NdDmaConfig(is_nearest_value_mode=True).loop_lp_size == 0xFFFF
    True
    """

    is_nearest_value_mode: bool = False
    loop_lp_size: int = UNSET_PAD
    loop_rp_size: int = UNSET_PAD
    asc_optimize: bool = False

    def __post_init__(self):
        source = "NDDMA, Table 3"
        for name in ("is_nearest_value_mode", "asc_optimize"):
            value = as_flag(_WHO, name, getattr(self, name), source)
            object.__setattr__(self, name, value)
        for name in ("loop_lp_size", "loop_rp_size"):
            rule = "be in [0, 255] (padding elements) or 0xFFFF"
            value = static_int(_WHO, name, getattr(self, name), rule, source)
            if value != UNSET_PAD:
                unit = "padding elements, or 0xFFFF to leave it unset"
                value = in_range(_WHO, name, value, 0, 255, unit, source)
            object.__setattr__(self, name, value)


class NdDmaParams(Params):
    """`DataCopy<T, dim, config>(dst, src, NdDmaParams)`: a strided copy with padding.

    The first element written is the padding's corner, at the destination's start.

    Shapes: `src` and `dst` are flat, in elements.

    Args:
      loop_info: the loops, an `NdDmaLoopInfo`.
      constant_value: what padding is filled with; 0 for 64-bit types.
      config: an `NdDmaConfig`, a template argument in C++.
    Raises:
      ParamError: a span of 2^40 elements or more, a constant that does not fit the
        type, nearest mode for 64 bits: while tracing.
      OverlapError: ascending destination strides whose loops overlap or interleave.
    Gradient: to the element each cell came from, summed where one feeds several; none
      from constants.
    Source: NDDMA, Table 4; instructions.md, section 5.

    >>> import ascjax as asc
    >>> info = asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
    >>> print(asc.NdDmaParams(info, 0).explain("float"))
    for x1 < 4, x0 < 16:
        dst[16*x1 + x0] = src[8*(x1 - 1) + x0 - 3] if 0 <= x1 - 1 < 2 and 0 <= x0 - 3 < 8 else padding
    """  # noqa: E501

    instruction = _WHO
    op = "data_copy"
    source = "NDDMA, Table 4"
    support = {"atlas_350": {"GM->VECIN": _ALL}}

    loop_info: NdDmaLoopInfo
    constant_value: Any = 0
    config: NdDmaConfig = NdDmaConfig()

    def __post_init__(self):
        for name, kind in (("loop_info", NdDmaLoopInfo), ("config", NdDmaConfig)):
            if not isinstance(getattr(self, name), kind):
                fix = f"Make one with asc.{kind.__name__}(...)."
                got = repr(getattr(self, name))
                self.refuse(name, f"be an {kind.__name__}", fix, got=got)
        given, field = self.constant_value, "constant_value"
        constant = constant_of(given, _WHO, field, self.source)
        object.__setattr__(self, field, constant)

    def padding(self) -> list[tuple[int, int]]:
        """Left and right padding of every dimension, the config's where it is set."""
        left, right = self.config.loop_lp_size, self.config.loop_rp_size
        info = self.loop_info
        return [
            (lp if left == UNSET_PAD else left, rp if right == UNSET_PAD else right)
            for lp, rp in zip(
                info.loop_lp_size or (), info.loop_rp_size or (), strict=True
            )
        ]

    def rules(self, site: Site) -> None:
        self.fill_bits(site.type)
        if site.type.bits == 64 and self.config.is_nearest_value_mode:
            self.refuse(
                "is_nearest_value_mode",
                "be False for 64-bit types",
                "Pad with the constant 0.",
                got="True",
                source="NDDMA, Table 3",
            )
        info = self.loop_info
        written = [
            lp + n + rp
            for n, (lp, rp) in zip(info.loop_size, self.padding(), strict=True)
        ]
        for name, counts in (
            ("loop_src_stride", info.loop_size),
            ("loop_dst_stride", written),
        ):
            strides = getattr(info, name)
            span = 1 + sum(
                (n - 1) * s for n, s in zip(counts, strides, strict=True) if n
            )
            if span >= 2**40:
                self.refuse(
                    name,
                    "span less than 2^40 elements, 1 + sum((n - 1) * stride)",
                    "Split the move into several calls.",
                    got=f"a span of {span}",
                    source="NDDMA, Restrictions",
                )

    def nest(self, site: Site) -> LoopNest:
        info = self.loop_info
        if 0 in info.loop_size:
            return LoopNest.nop()
        outside = "clamp" if self.config.is_nearest_value_mode else "fill"
        loops, coords = [], []
        for a, (lp, rp) in reversed(list(enumerate(self.padding()))):
            size = info.loop_size[a]
            loops.append(Loop(f"x{a}", lp + size + rp, info.loop_dst_stride[a]))
            bound = (-lp, size, outside) if lp or rp else ()
            coords.append(({f"x{a}": 1}, info.loop_src_stride[a], *bound))
        return LoopNest.build(0, 0, loops, coords)

    def fill_bits(self, type: AscendType) -> int:
        return fill_bits(self.constant_value, type, _WHO, self.source)

    def check_overlap(self, site: Site, nest: Stated) -> None:
        own = self.nest(site)
        loops = [loop for loop in reversed(own.loops) if loop.extent > 1]
        strides = [loop.dst_stride for loop in loops]
        if nest.volume and strides == sorted(strides):
            room = 1  # the span of the dimensions below, its last element a stride wide
            for k, loop in enumerate(loops):
                if loop.dst_stride < room:
                    a = loop.name.removeprefix("x")
                    self.refuse(
                        f"loop_dst_stride[{a}]",
                        f"be at least {room} (elements), the room that the dimensions "
                        "below it take, where the strides ascend",
                        "Widen it, or pass overlap='last' to let the later write win.",
                        got=loop.dst_stride,
                        source="NDDMA, Restrictions",
                        error=OverlapError,
                    )
                below = room if k else loop.dst_stride
                room = loop.dst_stride * (loop.extent - 1) + below
        super().check_overlap(site, nest)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> NdDmaParams:
        """From the C names; the config nested as `config`, or its fields beside."""
        given = dict(fields)
        nested = given.pop("config", {})
        if not isinstance(nested, Mapping):
            rule, fix = "be the config's fields by their C names", "Pass an object."
            raise ParamError(_WHO, "config", rule, repr(nested), fix, "NDDMA, Table 3")
        config = dict(nested)
        info_names = {c_name(name): name for name in LISTS}
        config_names = {c_name(f.name): f.name for f in dataclasses.fields(NdDmaConfig)}
        for name in ("isNearestValueMode", "ascOptimize"):
            if name in given:
                config[name] = given.pop(name)
        unknown = given.keys() - info_names.keys() - {"constantValue"}
        unknown |= config.keys() - config_names.keys()
        missing = {"loopSrcStride", "loopDstStride", "loopSize"} - given.keys()
        if unknown or missing:
            names = ", ".join((*info_names, "constantValue", "config"))
            told = (("unknown", unknown), ("missing", missing))
            got = "; ".join(f"{k} {', '.join(sorted(v))}" for k, v in told if v)
            rule = f"be among {names}, the first three always there"
            fix = "Use the C structs' names."
            raise ParamError(_WHO, "fields", rule, got, fix, cls.source)
        constant = given.pop("constantValue", 0)
        return cls(
            NdDmaLoopInfo(**{info_names[k]: v for k, v in given.items()}),
            constant,
            NdDmaConfig(**{config_names[k]: v for k, v in config.items()}),
        )

    @classmethod
    def c_fields(cls) -> dict[str, CField]:
        lists = {c_name(k): CField("list", 0, high) for k, (high, _) in LISTS.items()}
        unpadded = dict.fromkeys(
            ("loopLpSize", "loopRpSize"), CField("list", 0, 255, (0,))
        )
        flags = ("isNearestValueMode", "ascOptimize")
        pads = ("config.loopLpSize", "config.loopRpSize")
        return {
            **lists,
            **unpadded,
            "constantValue": CField("number", default=0),
            **dict.fromkeys(flags, CField("flag", 0, 1, False)),
            **dict.fromkeys(pads, CField("integer", 0, 255)),
        }

    def to_fields(self) -> dict[str, Any]:
        info, config = self.loop_info, self.config
        return {
            **{c_name(name): list(getattr(info, name)) for name in LISTS},
            "constantValue": self.constant_value.to_json(),
            "config": {c_name(k): v for k, v in dataclasses.asdict(config).items()},
        }


def nddma_dci() -> None:
    """`NdDmaDci()`: refreshes the chip's cache; here a no-op, so that ported code reads
    the same.

    Source: NDDMA, Prototype.

    >>> import ascjax as asc
    >>> asc.nddma_dci()
    """
