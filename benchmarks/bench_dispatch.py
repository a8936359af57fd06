"""What a call of an op costs over a bare cached `jax.jit` of the same plan.

python -m benchmarks.bench_dispatch [--smoke] [--types f32] [--sizes 64KiB]
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

import jax
import jax.numpy as jnp

import ascjax as asc

from . import report
from .cases import CASES
from .plotting import plot
from .timing import check, medians
from .work import TYPES, move_of, size_of

_CASES = ("load2d src gap", "load2dv2 transpose", "ldwt_v1 transpose")
_CASES = (*_CASES, "nz2nd transpose", "nddma src gap", "load2d NZ to ZZ")


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(__doc__, "f32", "64KiB", ("f32", "4KiB"))
    args = parser.parse_args(argv)
    types, sizes = report.chosen(args)
    print(report.machine())
    rows = []
    for name in _CASES[:2] if args.smoke else _CASES:
        for type in types:
            for size in sizes:
                rows.append(_row(name, type, size, args.smoke))
                times = rows[-1]["seconds"]
                text = ", ".join(f"{k} {v * 1e6:.1f}" for k, v in times.items())
                print(f"{report.label(rows[-1]):40} us: {text}", flush=True)
    found = []
    for way in ("op", "run_move"):
        over = [r["seconds"][way] - r["seconds"]["jax.jit"] for r in rows]
        name = f"{way} over a bare cached jit, us, median"
        worst = max(range(len(over)), key=over.__getitem__)
        where = f"worst {1e6 * over[worst]:.1f}, {report.label(rows[worst])}"
        value = 1e6 * statistics.median(over)
        found.append(report.Figure(name, value, "<= 3", where))
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "Dispatch")
    return 0


def _row(name: str, type: str, size: str, smoke: bool) -> report.Row:
    dtype, carrier = TYPES[type]
    _, count = size_of(size)
    calls = CASES[name].make(asc.ascend_type(dtype), count)
    move = move_of(CASES[name], calls, dtype)
    x = jnp.arange(move.src_size).astype(carrier)
    dst_size = move.dst_size
    if len(calls) > 1:
        op = functools.partial(asc.sequence(calls, dtype=dtype), x, dst_size=dst_size)
    else:
        params, src_offset, dst_offset = calls[0]
        at = {"src_offset": src_offset, "dst_offset": dst_offset}
        own = getattr(asc, params.op)
        op = functools.partial(own, x, params, dst_size=dst_size, dtype=dtype, **at)
    bare = jax.jit(lambda src: asc.run_move(move, src))
    ways = {
        "jax.jit": functools.partial(bare, x),
        "op": op,
        "run_move": functools.partial(asc.run_move, move, x),
    }
    want = move.index_map.apply(x)
    for way, call in ways.items():
        check(f"{name}, {way}", call(), want)
    times = medians(ways, 0.0 if smoke else 0.5, most=5 if smoke else 3000)
    return {"case": name, "type": type, "size": size, "direction": "", "seconds": times}


if __name__ == "__main__":
    raise SystemExit(main())
