"""NDDMA: up to five loops with padding, GM to UB (instructions.md, 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from .._dtypes import AscendType
from .._errors import OverlapError, ParamError
from .._fill import fill_bits
from .._nest import Loop, LoopNest
from .._runs import Stated
from ._c_struct import CField
from ._fields import c_name, constant, part
from ._figure import Dimension, Figure, Side, Tiles
from ._nddma_structs import UNSET_PAD as UNSET_PAD
from ._nddma_structs import NdDmaConfig as NdDmaConfig
from ._nddma_structs import NdDmaLoopInfo as NdDmaLoopInfo
from ._params import Params, Site

_ALL = (
    "bool int8_t uint8_t int16_t uint16_t half bfloat16_t int32_t uint32_t float "
    "complex32 int64_t uint64_t double complex64"
)
_WHO = "nddma"


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

    loop_info: NdDmaLoopInfo = part(NdDmaLoopInfo)
    constant_value: Any = constant()
    config: NdDmaConfig = part(NdDmaConfig, default=NdDmaConfig())

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

    def figure(self, site: Site) -> Figure:
        info, pads = self.loop_info, self.padding()
        read, put, sizes = info.loop_src_stride, info.loop_dst_stride, info.loop_size
        written = [lp + n + rp for n, (lp, rp) in zip(sizes, pads, strict=True)]
        inside = sum(lp * by for (lp, _), by in zip(pads, put, strict=True))
        lines: list[Dimension] = []
        for a, (n, (lp, rp)) in enumerate(zip(sizes, pads, strict=True)):
            by, end, down = put[a], inside + n * put[a], a > 0
            first = 0 if down else inside - lp * by
            ways: tuple[tuple[Side, str, int, int, int], ...] = (
                ("src", "loopSize", n if read[a] else 0, 0, (n - 1) * read[a]),
                ("dst", "loopLpSize", lp, first, first + (lp - 1) * by),
                ("dst", "loopRpSize", rp, end, end + (rp - 1) * by),
            )
            for side, name, value, start, stop in ways:
                field = f"{name}[{a}]"
                lines.append(Dimension.count(side, field, value, start, stop, down))
            if down:
                field = f"loopSrcStride[{a}]"
                lines.append(Dimension.stride("src", field, read[a], 0, read[a]))
                field = f"loopDstStride[{a}]"
                lines.append(Dimension.stride("dst", field, by, 0, by))
        src, dst = _row_of(read, sizes), _row_of(put, written)
        return Figure.of(Tiles.lines(src), Tiles.lines(dst), *lines)

    def fill_bits(self, type: AscendType) -> int:
        return fill_bits(self.constant_value, type, _WHO, self.source)

    def check_overlap(self, site: Site, nest: Stated) -> None:
        own = nest.loops if isinstance(nest, LoopNest) else ()
        loops = [loop for loop in reversed(own) if loop.extent > 1]
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
        info_names = {c_name(f.name): f.name for f in _LISTS}
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
        filler = given.pop("constantValue", 0)
        return cls(
            NdDmaLoopInfo(**{info_names[k]: v for k, v in given.items()}),
            filler,
            NdDmaConfig(**{config_names[k]: v for k, v in config.items()}),
        )

    @classmethod
    def c_fields(cls) -> dict[str, CField]:
        lists = {c_name(f.name): _c_field(f) for f in _LISTS}
        flags = ("isNearestValueMode", "ascOptimize")
        left, right = (
            CField(
                "integer", 0, 255, unit=f"{field.metadata['unit']} of every dimension"
            )
            for field in _LISTS[-2:]
        )
        return {
            **lists,
            "constantValue": CField("number", default=0),
            **dict.fromkeys(flags, CField("flag", 0, 1, False)),
            "config.loopLpSize": left,
            "config.loopRpSize": right,
        }

    def to_fields(self) -> dict[str, Any]:
        info, config = self.loop_info, self.config
        return {
            **{c_name(f.name): list(getattr(info, f.name)) for f in _LISTS},
            "constantValue": self.constant_value.to_json(),
            "config": {c_name(k): v for k, v in dataclasses.asdict(config).items()},
        }


def _row_of(strides: Iterable[int], counts: Iterable[int]) -> int:
    """Elements from row to row in a picture: the second of the steps that are there."""
    steps = sorted((s, n) for s, n in zip(strides, counts, strict=True) if s and n > 1)
    return steps[1][0] if len(steps) > 1 else (steps or [(1, 1)])[0][1]


_LISTS = dataclasses.fields(NdDmaLoopInfo)


def _c_field(field: dataclasses.Field) -> CField:
    """A list of the loops, by its C name."""
    default = (0,) if field.default is None else None  # of the padding
    unit = f"{field.metadata['unit']}, one a dimension"
    low, high = field.metadata["range"]
    return CField("list", low, high, default, unit)


def nddma_dci() -> None:
    """`NdDmaDci()`: refreshes the chip's cache; here a no-op, so that ported code reads
    the same.

    Source: NDDMA, Prototype.

    >>> import ascjax as asc
    >>> asc.nddma_dci()
    """
