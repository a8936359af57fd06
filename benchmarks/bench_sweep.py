"""Sweeps: against the oracle's answers, against a compilation for each case, over
several devices, and as a stream.

python -m benchmarks.bench_sweep [--cases 10000] [--instructions load2d,nddma]
    [--devices 1,2,4,8] [--stream 100000] [--json FILE] [--smoke]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import ascjax as asc
from ascjax import oracle
from ascjax.instr import REGISTRY, Site
from ascjax.instr._convert import Conversion
from ascjax.sweeps import Job, run_jobs
from ascjax.verify._samples import Sample, sample
from ascjax.verify._suite import combinations

from . import report
from .memory import peak_mib
from .timing import SEED, WrongAnswer

_WHOLE = 10_000  # cases that the targets are for
_STREAM = asc.LoadData2DParams(repeat_times=8, src_stride=1)  # 4 KiB


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a few seconds, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--cases", type=int, default=_WHOLE, help="of an instruction")
    parser.add_argument("--one-by-one", type=int, default=40, help="compiled each")
    parser.add_argument("--instructions", default=",".join(REGISTRY))
    parser.add_argument("--devices", default="1,2,4,8", help="forced host devices")
    parser.add_argument("--stream", type=int, default=100_000, help="cases of 4 KiB")
    parser.add_argument("--alone", choices=ALONE, help="in a process of its own")
    args = parser.parse_args(argv)
    if args.smoke:
        args.cases, args.one_by_one, args.stream = 12, 2, 100
        args.instructions, args.devices = "load2d,fixpipe", "2"
    if args.alone:
        print(json.dumps(ALONE[args.alone](args.cases)))
        return 0
    print(report.machine())
    rows = []
    for name in args.instructions.split(","):
        rows.append(_row(name, args.cases, args.one_by_one))
        print(_line(rows[-1]), flush=True)
    found = figures(rows)
    for devices in map(int, args.devices.split(",")):
        rates = _apart("throughput", args.cases, devices)
        rows.append({"devices": devices, **rates})
        for what, rate in rates.items():
            name = f"{what}, cases/s on {devices} forced host devices"
            found.append(report.Figure(name, rate))
    peak = _apart("stream", args.stream, 1)
    rows.append({"stream": args.stream, **peak})
    target = "< 2048" if args.stream >= 100_000 else ""
    found.append(report.Figure("stream of 4 KiB, peak MiB", peak["mib"], target))
    found.append(report.Figure("stream of 4 KiB, cases/s", peak["rate"]))
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    return 0


def figures(rows: Sequence[report.Row]) -> list[report.Figure]:
    """The summary, with the targets of 10,000 cases."""
    rates = [row["cases"] / row["sweep_s"] for row in rows]
    times = [x / row["one_by_one_per_s"] for x, row in zip(rates, rows, strict=True)]
    totals = [row["sweep_s"] + row["oracle_s"] for row in rows]
    again = [row["cases"] / row["again_s"] for row in rows]
    names = [row["instruction"] for row in rows]
    whole = all(row["cases"] >= _WHOLE for row in rows)

    def least(name: str, values: list[float], target: str = "") -> report.Figure:
        worst = min(range(len(values)), key=values.__getitem__)
        return report.Figure(name, values[worst], target * whole, names[worst])

    longest = max(range(len(totals)), key=totals.__getitem__)
    return [
        report.Figure("sweep, cases/s, geomean", report.geomean(rates)),
        least("sweep, cases/s, least", rates),
        least("sweep / a compilation for each, least", times, ">= 20"),
        report.Figure(
            "sweep, compiled before, cases/s, geomean", report.geomean(again)
        ),
        report.Figure(
            "sweep and oracle, seconds, most",
            totals[longest],
            "< 60" * whole,
            names[longest],
        ),
    ]


def _line(row: report.Row) -> str:
    rate = row["cases"] / row["sweep_s"]
    return (
        f"{row['instruction']:14} {row['cases']} cases: sweep {row['sweep_s']:.2f} s, "
        f"again {row['again_s']:.2f} s, oracle {row['oracle_s']:.2f} s; "
        f"{rate:.0f} a second, one by one {row['one_by_one_per_s']:.1f}: "
        f"{rate / row['one_by_one_per_s']:.0f} times"
    )


# --- one instruction


def _row(instruction: str, cases: int, one_by_one: int) -> report.Row:
    """Sweep, oracle and single compilations of the same cases, every answer checked."""
    drawn = list(_drawn(instruction, cases))
    jax.clear_caches()  # what other instructions have compiled
    start = time.perf_counter()
    after = list(run_jobs(_jobs(drawn)))
    swept = time.perf_counter()
    for _ in run_jobs(_jobs(drawn)):
        pass
    again = time.perf_counter()
    for (made, site), job, found in zip(drawn, _jobs(drawn), after, strict=True):
        _check(made, site, job, found)
    checked = time.perf_counter()
    return {
        "instruction": instruction,
        "cases": cases,
        "sweep_s": swept - start,
        "again_s": again - swept,
        "oracle_s": checked - again,
        "one_by_one_per_s": _one_by_one(_jobs(drawn), after, one_by_one),
    }


def _drawn(instruction: str, cases: int) -> Iterator[tuple[Sample, Site]]:
    """Random legal cases over all products, paths and types in turn."""
    sites = [site for name, site in combinations() if name == instruction]
    rng = np.random.default_rng(SEED)
    for k in range(cases):
        site = sites[k % len(sites)]
        yield sample(instruction, site, lambda a, b: int(rng.integers(a, b + 1))), site


def _jobs(drawn: Sequence[tuple[Sample, Site]]) -> Iterator[Job]:
    """Moves made and checked one after another, on operands of random bits."""
    for made, site in drawn:
        move = made.move(site)
        src = _random(move.type.bits)[: move.src_size]
        yield Job(move, src, _random(move.arrives.bits)[: move.dst_size])


@functools.cache
def _random(bits: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    found = rng.integers(0, 2**bits, 1 << 22, dtype=np.uint64, endpoint=False)
    return found.astype(f"uint{max(8, bits)}")


@functools.cache
def _converted(type: asc.AscendType, conversion: Conversion) -> np.ndarray:
    """All of `_random` as it arrives."""
    values = jax.jit(conversion)(_random(type.bits).view(type.carrier))
    return np.asarray(values).view(f"uint{conversion.type.bits}")


def _check(made: Sample, site: Site, job: Job, found: np.ndarray) -> None:
    """Raise WrongAnswer where the oracle has it otherwise."""
    want = oracle.run(
        made.params.instruction,
        made.params.to_fields(),
        site.type.bits,
        np.arange(job.src.size),
        np.full(job.dst.size, -1),
        src_offset=made.src_offset,
        dst_offset=made.dst_offset,
        pad=-2,
        product=site.product and site.product.key,
        path=site.path,
    )
    values = job.src
    if job.move.conversion is not None:
        values = _converted(site.type, job.move.conversion)
    answer = np.where(want == -1, job.dst, values[np.maximum(want, 0)])
    answer[want == -2] = job.move.fills[0] & (2 ** (8 * job.dst.itemsize) - 1)
    wrong = np.flatnonzero(answer != found)
    if wrong.size:
        raise WrongAnswer(f"{made.params}: {wrong.size} wrong, first {wrong[0]}")


def _one_by_one(jobs: Iterator[Job], after: list[np.ndarray], count: int) -> float:
    """Cases a second where each distinct move is compiled; not those of 64 bits, which
    need jax_enable_x64 there."""
    distinct = {
        job.move: (job, answer)
        for job, answer in zip(jobs, after, strict=True)
        if job.src.itemsize < 8
    }
    chosen = list(distinct.values())[:: max(1, len(distinct) // count)][:count]
    seconds = 0.0
    for (move, src, dst), answer in chosen:
        start = time.perf_counter()
        operands = src.view(move.type.carrier), dst.view(move.arrives.carrier)
        found = np.asarray(asc.run_move(move, *operands))
        seconds += time.perf_counter() - start
        held = found.view(answer.dtype)
        if (held & 15 if move.type.bits == 4 else held).tolist() != answer.tolist():
            raise WrongAnswer(f"{move.calls[0].params}: the op has it otherwise")
    return len(chosen) / seconds


# --- in processes of their own


def _apart(what: str, cases: int, devices: int) -> dict[str, float]:
    """A measurement in a process that has `devices` forced host devices."""
    flag = f"--xla_force_host_platform_device_count={devices}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    command = [sys.executable, "-m", "benchmarks.bench_sweep", "--alone", what]
    command += ["--cases", str(cases)]
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def _throughput(cases: int) -> dict[str, float]:
    """Cases a second of warm programs, moves made before: of many small cases, where
    the host's own work counts, and of fewer large ones."""
    large = asc.LoadData2DParams(repeat_times=255, src_stride=1, if_transpose=True)
    move = asc.Move.of(large, src_size=255 * 256, dtype="half")
    some = Job(move, *(_random(16)[: 255 * 256],) * 2)
    found = {}
    for name, jobs in (
        ("load2d", list(_jobs(list(_drawn("load2d", cases))))),
        ("load2d of 128 KiB", [some] * (cases // 4)),
    ):
        for _ in run_jobs(jobs):
            pass
        start = time.perf_counter()
        for _ in run_jobs(jobs):
            pass
        found[name] = len(jobs) / (time.perf_counter() - start)
    return found


def _stream(cases: int) -> dict[str, float]:
    """Cases of 4 KiB, each with operands of its own that nothing else holds."""

    def jobs() -> Iterator[Job]:
        move = asc.Move.of(_STREAM, src_size=2048, dtype="half")
        for k in range(cases):
            yield Job(
                move, np.full(2048, k % 2**16, np.uint16), np.zeros(2048, np.uint16)
            )

    start = time.perf_counter()
    for k, after in enumerate(run_jobs(jobs())):
        if after[0] != k % 2**16:
            raise WrongAnswer(f"case {k} of the stream")
    rate = cases / (time.perf_counter() - start)
    return {"mib": peak_mib(), "rate": rate}


ALONE: dict[str, Any] = {"throughput": _throughput, "stream": _stream}


if __name__ == "__main__":
    raise SystemExit(main())
