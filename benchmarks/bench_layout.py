"""Whole-array layouts against a copy and what people would write instead.

python -m benchmarks.bench_layout [--types bf16,int8] [--sizes 4096x4096] [--smoke]
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ascjax as asc

from . import report
from .peers import copy_of
from .plotting import plot
from .timing import SEED, check, medians
from .work import TYPES

FORMATS = ("DN", "NZ", "ZN", "ZZ", "NN")
# einops patterns: digits as `Layout.dims` names them.
STORED = {
    "DN": "c r",
    "NZ": "c1 r1 r0 c0",
    "ZN": "r1 c1 c0 r0",
    "ZZ": "r1 c1 r0 c0",
    "NN": "c1 r1 c0 r0",
}
_TARGET = "pack, unpack of whole blocks, bf16: copy / ours, worst"


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    sizes, smoke = "4096x4096,4095x4097", "48x80,33x70"
    parser = report.options(
        __doc__, "f32,bf16,int8,int4,jnp.int4", sizes, ("bf16,int4", smoke)
    )
    parser.add_argument("--formats", help=f"default {','.join(FORMATS)}")
    parser.add_argument("--seconds", type=float, default=0.5, help="each variant's")
    args = parser.parse_args(argv)
    types, sizes = report.chosen(args)
    formats = (args.formats or ",".join(FORMATS)).split(",")
    print(report.machine())
    rows = []
    for type in types:
        for size in sizes:
            shape = tuple(map(int, size.split("x")))
            if type == "int4" and shape[-1] % 2:
                shape = (*shape[:-1], shape[-1] + 1)
            for format in formats:
                made = _rows(format, type, shape, 0.0 if args.smoke else args.seconds)
                for row in made:
                    rows.append(row)
                    print(_line(row), flush=True)
    found = figures(rows)
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "Layouts")
    return 0


def figures(rows: Sequence[report.Row]) -> list[report.Figure]:
    """The summary: a peer's time over ours."""
    whole = [r for r in rows if r["whole"] and r["type"] == "bf16"]
    whole = [r for r in whole if r["direction"] in ("pack", "unpack")]
    found = []
    if whole:
        worst, row = report.ratios(whole, "copy")[0]
        name = f"{row['direction']} {report.label(row)}"
        found.append(report.Figure(_TARGET, worst, ">= 0.5", name))
    for way in ("pack", "unpack", "convert"):
        for peer in ("copy", "flat", "einops"):
            own = [r for r in rows if r["direction"] == way]
            pairs = report.ratios(own, peer)
            if pairs:
                value = report.geomean(ratio for ratio, _ in pairs)
                name = f"{way}: {peer} / ours, geomean"
                found.append(report.Figure(name, value, "", f"over {len(pairs)}"))
    return found


def _line(row: report.Row) -> str:
    ours = row["seconds"]["ours"]
    ratios = [
        f"{peer} {seconds / ours:.2f}"
        for peer, seconds in row["seconds"].items()
        if peer != "ours"
    ]
    name = f"{row['direction']} {report.label(row)}"
    return f"{name:44} {1e3 * ours:8.2f} ms; over ours: {', '.join(ratios)}"


def _rows(
    format: str, type: str, shape: tuple[int, ...], seconds: float
) -> list[report.Row]:
    """pack, unpack and a conversion from NZ of one format, checked and timed."""
    dtype, carrier = TYPES[type]
    layout = asc.Layout(format, shape, dtype)
    nz = asc.Layout("NZ", shape, dtype)
    packed = type == "int4"
    values = _random(shape, carrier, packed)
    array, held = _held(values, packed), {}
    for one in (layout, nz):
        at = np.asarray(one.address(*np.indices(shape)))
        buffer = np.zeros(one.size, values.dtype)
        buffer[at] = values
        held[one] = _held(buffer, packed)
    works = {
        "pack": (layout.pack, array, held[layout], _peers(layout, packed)),
        "unpack": (layout.unpack, held[layout], array, _peers(layout, packed, True)),
    }
    if format != "NZ":

        def convert(x: Any) -> Any:
            return asc.convert(x, nz, layout)

        works["convert"] = (convert, held[nz], held[layout], {})
    found = []
    for way, (ours, source, want, others) in works.items():
        x = jnp.asarray(source)
        calls = {
            name: functools.partial(jax.jit(f), x)
            for name, f in {"ours": ours, **others}.items()
        }
        for name, call in calls.items():
            check(f"{format}, {type}, {shape}, {way}, {name}", call(), want)
        copy, like = copy_of(want.size, x.reshape(-1))
        calls["copy"] = functools.partial(copy, like)
        times = medians(calls, seconds, most=3 if not seconds else 200)
        row = {"case": format, "type": type, "size": "x".join(map(str, shape))}
        whole = all(n % 64 == 0 for n in shape)
        bytes = array.size * array.itemsize
        row |= {"direction": way, "whole": whole, "bytes": bytes, "seconds": times}
        found.append(row)
    return found


def _random(shape: tuple[int, ...], carrier: str, packed: bool) -> np.ndarray:
    """Small integers; nibbles, one a byte, where they are to be packed."""
    rng = np.random.default_rng(SEED)
    if packed:
        return rng.integers(0, 16, shape).astype("uint8")
    low, high = (-8, 8) if carrier == "int4" else (-128, 128)
    return rng.integers(low, high, shape).astype(jnp.dtype(carrier))


def _held(x: np.ndarray, packed: bool) -> np.ndarray:
    return x[..., ::2] | x[..., 1::2] << 4 if packed else x


def _peers(
    layout: asc.Layout, packed: bool, back: bool = False
) -> dict[str, Callable[[Any], Any]]:
    """What people write: pad, reshape, transpose, by jnp or by einops."""
    if packed or len(layout.shape) != 2:
        return {}
    (m, k), (high, wide) = layout.shape, layout.padded
    names = STORED[layout.format].split()
    sizes = dict(zip(names, layout.dims, strict=True))
    natural = sorted(
        names, key=lambda name: "cr".index(name[0]) * -2 - int("1" in name)
    )
    order = [natural.index(name) for name in names]

    def flat(x: Any) -> Any:
        if back:
            parts = x.reshape(layout.dims).transpose([names.index(n) for n in natural])
            return parts.reshape(high, wide)[:m, :k]
        x = jnp.pad(x, ((0, high - m), (0, wide - k)))
        return x.reshape([sizes[n] for n in natural]).transpose(order).reshape(-1)

    if importlib.util.find_spec("einops") is None:
        return {"flat": flat}
    call = importlib.import_module("einops").rearrange
    rows, columns = (" ".join(n for n in natural if n[0] == axis) for axis in "rc")
    one, two = f"({rows}) ({columns})", f"({' '.join(names)})"

    def einops(x: Any) -> Any:
        if back:
            return call(x, f"{two} -> {one}", **sizes)[:m, :k]
        x = jnp.pad(x, ((0, high - m), (0, wide - k)))
        return call(x, f"{one} -> {two}", **sizes)

    return {"flat": flat, "einops": einops}


if __name__ == "__main__":
    raise SystemExit(main())
