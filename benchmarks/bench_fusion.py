"""Calls that fill a tile against one call, and twenty chained moves against one.

Beside them, for comparison, the calls and moves one by one.
python -m benchmarks.bench_fusion
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import ascjax as asc

from . import report
from .builders import FRACTAL, Calls
from .cases import CASES
from .plotting import plot
from .timing import check, medians
from .work import TYPES, move_of, op_of, size_of


def _split(name: str, parts: int) -> Callable[[asc.AscendType, int], Calls]:
    """A case's call as `parts` calls, each on its part of the buffers."""

    def make(t: asc.AscendType, size: int) -> Calls:
        whole = CASES[name].make(t, size)
        ((small, _, _),) = CASES[name].make(t, size // parts)
        move = move_of(CASES[name], whole, t.name)
        steps = move.src_size // parts, move.dst_size // parts
        return [(small, k * steps[0], k * steps[1]) for k in range(parts)]

    return make


def _shuffled(t: asc.AscendType, size: int) -> Calls:
    """Fractals one by one in an order that no loop gives."""
    count = size // FRACTAL
    one = asc.LoadData2DParams(repeat_times=1)
    return [
        (one, (k * 37 % count) * t.fractal, (k * 11 % count) * t.fractal)
        for k in range(count)
    ]


# name: (the sequence, the case that is one call of as many bytes)
SEQUENCES = {
    "load2d, a call a row of fractals": (
        CASES["load2d NZ to ZZ"].make,
        "load2d src gap",
    ),
    "load2d, 16 calls with a src gap": (_split("load2d src gap", 16), "load2d src gap"),
    "load2d, fractals in no order": (_shuffled, "load2d src gap"),
    "ldwt_v1, 8 calls": (_split("ldwt_v1 transpose", 8), "ldwt_v1 transpose"),
    "nz2nd, 4 calls": (_split("nz2nd matrices", 4), "nz2nd matrices"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(__doc__, "f32,bf16,int8", "64KiB", ("f32", "8KiB"))
    args = parser.parse_args(argv)
    types, sizes = report.chosen(args)
    print(report.machine())
    rows = []
    for name in list(SEQUENCES)[: 3 if args.smoke else None]:
        for type in types:
            for size in sizes:
                rows.append(_row(name, type, size, args.smoke))
                times = rows[-1]["seconds"]
                text = ", ".join(f"{k} {v * 1e6:.1f}" for k, v in times.items())
                print(f"{report.label(rows[-1]):50} us: {text}", flush=True)
    found = _figures(
        rows, "sequence / one call of the same bytes", "sequence", "one call"
    )
    chains = []
    for type in types:
        chains.append(_chained(type, "8KiB" if args.smoke else "1MiB", args.smoke))
        times = chains[-1]["seconds"]
        text = ", ".join(f"{k} {v * 1e6:.1f}" for k, v in times.items())
        print(f"{report.label(chains[-1]):50} us: {text}", flush=True)
    found += _figures(chains, "20 chained moves / one move", "chain", "one move")
    rows += chains
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "Fusion")
    return 0


def _figures(rows: list, what: str, ours: str, one: str) -> list[report.Figure]:
    over = [(r["seconds"][ours] / r["seconds"][one], r) for r in rows]
    worst = max(over, key=lambda pair: pair[0])
    mean = report.geomean(ratio for ratio, _ in over)
    return [
        report.Figure(f"{what}, geomean", mean, "<= 1.3"),
        report.Figure(f"{what}, worst", worst[0], "<= 1.3", report.label(worst[1])),
    ]


def _chained(type: str, size: str, smoke: bool) -> report.Row:
    """Twenty NZ2ND moves in a row, of two shapes in turn: none undoes its neighbour."""
    dtype, carrier = TYPES[type]
    count = size_of(size)[1] * 8 // asc.ascend_type(dtype).bits
    rows = 1 << (count.bit_length() - 1) // 2
    moves = []
    for n in (rows, rows // 2):
        p = asc.Nz2NdParamsFull(1, n, count // n, 1, n, count // n, 1)
        moves.append(asc.Move.of(p, dtype=dtype, src_size=count))
    road = asc.chain(moves * 10)
    x = jnp.arange(count).astype(carrier)
    each = [jax.jit(functools.partial(asc.run_move, move)) for move in moves]
    chain = jax.jit(road)

    def one_by_one() -> Any:
        y = x
        for _ in range(10):
            y = each[1](each[0](y))
        return y

    ways: dict[str, Callable[[], Any]] = {
        "chain": lambda: chain(x),
        "one move": lambda: each[0](x),
        "one by one": one_by_one,
    }
    check("chain", ways["chain"](), road.index_map.apply(x))
    check("one by one", one_by_one(), ways["chain"]())
    times = medians(ways, 0.0 if smoke else 0.2, most=1000)
    name = "nz2nd, 20 in a row"
    return {"case": name, "type": type, "size": size, "direction": "", "seconds": times}


def _row(name: str, type: str, size: str, smoke: bool) -> report.Row:
    make, single = SEQUENCES[name]
    dtype, carrier = TYPES[type]
    t, (_, count) = asc.ascend_type(dtype), size_of(size)
    ways: dict[str, Callable[[], Any]] = {}
    for way, calls in (
        ("sequence", make(t, count)),
        ("one call", CASES[single].make(t, count)),
    ):
        move = move_of(CASES[single], calls, dtype)
        x = jnp.arange(move.src_size).astype(carrier)
        op = jax.jit(op_of(calls, dtype, move.dst_size))
        ways[way] = functools.partial(op, x, None)
        check(f"{name}, {way}", ways[way](), move.index_map.apply(x))
        if way == "sequence":
            ways["one by one"] = functools.partial(_one_by_one, calls, move, x)
            check(f"{name}, one by one", ways["one by one"](), ways[way]())
    times = medians(ways, 0.0 if smoke else 0.2, most=1000)
    return {"case": name, "type": type, "size": size, "direction": "", "seconds": times}


def _one_by_one(calls: Calls, move: asc.Move, x: Any) -> Any:
    dst = jnp.zeros(move.dst_size, x.dtype)
    for params, src_offset, dst_offset in calls:
        op = getattr(asc, params.op)
        starts = {"src_offset": src_offset, "dst_offset": dst_offset}
        dst = op(x, params, dst=dst, dtype=move.type.name, **starts)
    return dst


if __name__ == "__main__":
    raise SystemExit(main())
