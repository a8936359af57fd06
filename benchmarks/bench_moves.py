"""Every instruction, forward and backward, against a copy and what people would use.

python -m benchmarks.bench_moves [--smoke] [--types f32,int8] [--sizes 64KiB,1024x64KiB]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import jax

import ascjax as asc

from . import report
from .cases import CASES
from .plotting import plot
from .timing import medians
from .work import TYPES, work_of

PEERS = ("flat", "einops", "x[idx]", "numpy", "torch")
SMOKE = (
    *("load2d dst gap", "load2dv2 transpose", "ldwt_v1 repeat", "ldwt_v2 odd pitch"),
    *("nz2nd identity", "nz2nd transpose", "nddma pad constant"),
)


def run(
    types: Sequence[str],
    sizes: Sequence[str],
    *,
    seconds: float,
    directions: tuple[str, ...] = ("forward", "backward"),
    only: set[str] = frozenset(),  # pyright: ignore[reportArgumentType]
    cases: Collection[str] = tuple(CASES),
) -> list[report.Row]:
    """The rows of these cases, checked and timed."""
    rows: list[report.Row] = []
    for case in (CASES[name] for name in cases):
        for type in types:
            if asc.ascend_type(TYPES[type][0]).bits not in case.bits:
                continue
            for size in sizes:
                work = work_of(case, type, size, directions=directions, only=only)
                variants_of = {
                    (direction, name): call
                    for direction, variants in work.variants.items()
                    for name, call in variants.items()
                }
                times = medians(variants_of, seconds)
                for direction, variants in work.variants.items():
                    mine = {name: times[direction, name] for name in variants}
                    rows.append(work.row(direction, mine))
                    print(line(rows[-1]), flush=True)
    return rows


def line(row: report.Row) -> str:
    """One row in print: microseconds, and each peer's time over ours."""
    times = row["seconds"]
    shown = [f"{times['ours'] * 1e6:10.1f}"]
    for peer in ("copy", *PEERS):
        shown.append(
            f"{times[peer] / times['ours']:8.2f}" if peer in times else " " * 8
        )
    return f"{report.label(row)[:46]:46} {row['direction']:8}" + "".join(shown)


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(
        __doc__,
        "f32,bf16,int8,int4,jnp.int4",
        "64KiB,1MiB,64MiB,1024x64KiB",
        ("f32,int4", "4KiB,2x4KiB"),
    )
    parser.add_argument("--cases", default="", help="only names that hold this")
    parser.add_argument("--peers", default="", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--forward", action="store_true", help="no backward")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each variant")
    parser.add_argument(
        "--inline", action="store_true", help="without JAX's asynchronous dispatch"
    )
    args = parser.parse_args(argv)
    if args.inline:
        jax.config.update("jax_cpu_enable_async_dispatch", False)
    types, sizes = report.chosen(args)
    print(report.machine())
    every = SMOKE if args.smoke else tuple(CASES)
    heads = "".join(f"{name:>8}" for name in ("copy", *PEERS))
    print(f"{'':46} {'':8}{'ours, us':>10}{heads}  (time / ours)")
    rows = run(
        types,
        sizes,
        seconds=0.0 if args.smoke else args.seconds,
        directions=("forward",) if args.forward else ("forward", "backward"),
        only=set(filter(None, args.peers.split(","))),
        cases=[name for name in every if args.cases in name],
    )
    found = report.figures(rows)
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "Moves")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
