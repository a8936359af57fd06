"""The first call: planning, tracing and compiling, without data.

It must not grow with the data. python -m benchmarks.bench_first_call [--smoke]
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp

import ascjax as asc

from . import report
from .builders import Calls
from .cases import CASES
from .plotting import plot
from .timing import SEED
from .work import TYPES, move_of, size_of

_CASES = ("nz2nd transpose", "nddma transpose", "nddma permute", "nddma odd src pitch")


def first_call(name: str, calls: Calls, type: str) -> tuple[float, int, int]:
    """Seconds to the executable, letters of StableHLO, letters of optimized HLO."""
    dtype, carrier = TYPES[type]
    jax.clear_caches()
    start = time.perf_counter()
    move = move_of(CASES[name], calls, dtype)
    abstract = jax.ShapeDtypeStruct((move.src_size,), jnp.dtype(carrier))
    lowered = jax.jit(lambda x: asc.run_move(move, x)).lower(abstract)
    compiled = lowered.compile()
    taken = time.perf_counter() - start
    return taken, len(lowered.as_text()), len(compiled.as_text() or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(__doc__, "f32", "64KiB,1GiB", ("f32", "4KiB,64KiB"))
    args = parser.parse_args(argv)
    types, sizes = report.chosen(args)
    print(report.machine())
    rows = []
    work = [
        (name, type, size, CASES[name].make(asc.ascend_type(TYPES[type][0]), count))
        for name in _CASES[: 2 if args.smoke else None]
        for type in types
        for size, (_, count) in ((size, size_of(size)) for size in sizes)
    ]
    first_call(work[0][0], work[0][3], work[0][1])  # the compiler's own first time
    samples: dict[tuple, list] = {item[:3]: [] for item in work}
    draw = random.Random(SEED)
    for _ in range(1 if args.smoke else 7):
        for name, type, size, calls in draw.sample(work, len(work)):
            samples[name, type, size].append(first_call(name, calls, type))
    for name, type, size, calls in work:
        taken = sorted(samples[name, type, size])
        seconds, stable, optimized = taken[len(taken) // 2]
        title = f"{name} ({len(calls)} calls)" if len(calls) > 1 else name
        row = {"case": title, "type": type, "size": size, "direction": ""}
        rows.append(
            {
                **row,
                "seconds": {"ours": seconds},
                "stable": stable,
                "optimized": optimized,
            }
        )
        text = f"{seconds * 1e3:7.1f} ms, letters: StableHLO {stable}, HLO {optimized}"
        print(f"{report.label(rows[-1]):50} {text}")
    found = _figures(rows, len(sizes))
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "First call")
    return 0


def _figures(rows: list[report.Row], sizes: int) -> list[report.Figure]:
    """The last size against the first, by case and type."""
    slowest = max(rows, key=lambda row: row["seconds"]["ours"])
    found = [
        report.Figure(
            "slowest first call, ms",
            slowest["seconds"]["ours"] * 1e3,
            "< 150",
            report.label(slowest),
        )
    ]
    pairs = [(rows[k], rows[k + sizes - 1]) for k in range(0, len(rows), sizes)]
    for key, name in (
        ("seconds", "time"),
        ("stable", "StableHLO"),
        ("optimized", "HLO"),
    ):
        values = []
        for small, large in pairs:
            a, b = (
                row[key]["ours"] if key == "seconds" else row[key]
                for row in (small, large)
            )
            values.append((b / a if a else 1.0, report.label(large)))
        name = f"first call, {name}: largest over smallest size, worst"
        found.append(report.Figure(name, max(values)[0], "<= 1.3", max(values)[1]))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
