"""A sweep against the oracle's answers, and against a compilation for each case.

python -m benchmarks.bench_sweep [--cases 10000] [--instructions load2d,nddma]
    [--devices 1,2,4,8] [--smoke]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ascjax as asc
from ascjax import oracle
from ascjax.instr import REGISTRY, Site
from ascjax.sweeps import Job, run_jobs
from ascjax.verify._samples import Sample, sample
from ascjax.verify._suite import combinations

from . import report
from .timing import SEED, WrongAnswer

_SECONDS, _TIMES = 60, 20
_ONE_BY_ONE = 40  # cases that are compiled by themselves


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a few seconds, for CI")
    parser.add_argument("--json", type=report.Path, metavar="FILE")
    parser.add_argument("--cases", type=int, default=10_000, help="of an instruction")
    parser.add_argument("--instructions", default=",".join(REGISTRY))
    parser.add_argument("--devices", default="1,2,4,8", help="forced host devices")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.smoke:
        args.cases, args.instructions, args.devices = 50, "load2d,load3dv2", "2"
    if args.alone:
        print(json.dumps(_throughput(args.instructions.split(",")[0], args.cases)))
        return 0
    print(report.machine())
    rows = []
    for name in args.instructions.split(","):
        rows.append(_row(name, args.cases, 2 if args.smoke else _ONE_BY_ONE))
        print(_line(rows[-1]), flush=True)
    found = figures(rows)
    for devices in args.devices.split(","):
        rate = _on_devices(int(devices), args.cases)
        name = f"load2d, cases/s on {devices} devices"
        found.append(report.Figure(name, rate))
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    return 0


def figures(rows: Sequence[report.Row]) -> list[report.Figure]:
    """The summary, with the targets of 10,000 cases."""
    found = []
    for row in rows:
        whole = row["cases"] >= 10_000
        name, rate = row["instruction"], row["cases"] / row["sweep_s"]
        times = rate / row["one_by_one_per_s"]
        total = row["sweep_s"] + row["oracle_s"]
        found += [
            report.Figure(f"{name}, sweep, cases/s", rate),
            report.Figure(
                f"{name}, sweep / a compilation each", times, whole * f">= {_TIMES}"
            ),
            report.Figure(
                f"{name}, sweep and oracle, seconds", total, whole * f"< {_SECONDS}"
            ),
        ]
    return found


def _line(row: report.Row) -> str:
    first = row["sweep_s"] - row["moves_s"]
    return (
        f"{row['instruction']}: {row['cases']} cases, moves {row['moves_s']:.2f} s, "
        f"first run {first:.2f} s, again {row['again_s']:.2f} s, "
        f"oracle {row['oracle_s']:.2f} s; "
        f"one by one {row['one_by_one_per_s']:.1f} a second"
    )


def _row(instruction: str, cases: int, one_by_one: int) -> report.Row:
    """Sweep, oracle and single compilations of the same cases, every answer checked."""
    drawn = list(_drawn(instruction, cases))
    start = time.perf_counter()
    moves = [made.move(site) for made, site in drawn]
    made_at = time.perf_counter()
    jobs = list(_jobs(moves))
    ready = time.perf_counter()
    after = list(run_jobs(jobs))
    swept = time.perf_counter()
    for _ in run_jobs(jobs):
        pass
    again = time.perf_counter()
    for (made, site), job, found in zip(drawn, jobs, after, strict=True):
        _check(made, site, job, found)
    checked = time.perf_counter()
    alone = dict(zip(moves, jobs, strict=True))
    singles = list(alone.items())[:one_by_one]
    began = time.perf_counter()
    for move, job in singles:
        _by_op(move, job)
    ended = time.perf_counter()
    return {
        "instruction": instruction,
        "cases": cases,
        "moves_s": made_at - start,
        "sweep_s": made_at - start + swept - ready,
        "again_s": again - swept,
        "oracle_s": checked - again,
        "one_by_one_per_s": len(singles) / (ended - began),
    }


def _drawn(instruction: str, cases: int) -> Iterator[tuple[Sample, Site]]:
    """Random legal cases over all products, paths and types in turn."""
    sites = [site for name, site in combinations() if name == instruction]
    rng = np.random.default_rng(SEED)
    for k in range(cases):
        site = sites[k % len(sites)]
        yield sample(instruction, site, lambda a, b: int(rng.integers(a, b + 1))), site


def _jobs(moves: Sequence[asc.Move]) -> Iterator[Job]:
    rng = np.random.default_rng(SEED)
    pool = rng.integers(0, 2**64, 1 << 20, dtype=np.uint64, endpoint=False)

    def held(size: int, type: asc.AscendType) -> np.ndarray:
        if size > pool.size:
            raise ValueError(f"a buffer of {size} elements: enlarge the pool")
        found = pool[:size].astype(f"uint{max(8, type.bits)}")
        return found & 15 if type.bits == 4 else found

    for move in moves:
        src, dst = held(move.src_size, move.type), held(move.dst_size, move.arrives)
        yield Job(move, src, dst)


def _check(made: Sample, site: Site, job: Job, found: np.ndarray) -> None:
    """Raise WrongAnswer where the oracle has it otherwise; values that Fixpipe converts
    are compared by where they came from."""
    ids, marks = np.arange(job.src.size, dtype=np.int64), np.full(job.dst.size, -1)
    want = oracle.run(
        made.params.instruction,
        made.params.to_fields(),
        site.type.bits,
        ids,
        marks,
        src_offset=made.src_offset,
        dst_offset=made.dst_offset,
        pad=-2,
        product=site.product and site.product.key,
        path=site.path,
    )
    if job.move.conversion is not None:
        if (found != job.dst)[want == -1].any():
            raise WrongAnswer(f"{made.params}: what is kept is not")
        return
    fill = job.move.fills[0] & (2 ** (8 * job.dst.itemsize) - 1)
    answer = np.where(want == -1, job.dst, job.src[np.maximum(want, 0)])
    answer[want == -2] = fill
    wrong = np.flatnonzero(answer != found)
    if wrong.size:
        raise WrongAnswer(f"{made.params}: {wrong.size} wrong, first {wrong[0]}")


def _by_op(move: asc.Move, job: Job) -> None:
    """The move by a compilation of its own; 64 bits as two words of half as many."""
    held, kept = job.src, job.dst
    if held.dtype == np.uint64:
        return
    carriers: Any = (move.type.carrier, move.arrives.carrier)
    src, dst = (x.view(c) for x, c in zip((held, kept), carriers, strict=True))
    asc.run_move(move, src, dst).block_until_ready()


def _throughput(instruction: str, cases: int) -> float:
    """Cases a second of a warm sweep, moves made before."""
    moves = [made.move(site) for made, site in _drawn(instruction, cases)]
    jobs = list(_jobs(moves))
    for _ in run_jobs(jobs):
        pass
    start = time.perf_counter()
    for _ in run_jobs(jobs):
        pass
    return cases / (time.perf_counter() - start)


def _on_devices(count: int, cases: int) -> float:
    """The same in a process that has `count` forced host devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')}"
    flags += f" --xla_force_host_platform_device_count={count}"
    command = [sys.executable, "-m", "benchmarks.bench_sweep", "--alone"]
    command += ["--instructions", "load2d", "--cases", str(cases)]
    env = {**os.environ, "XLA_FLAGS": flags}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    raise SystemExit(main())
