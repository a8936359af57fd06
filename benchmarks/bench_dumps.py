"""`ascjax verify` over dumps of 4 KiB, some of them wrong: cases/s and peak memory.

python -m benchmarks.bench_dumps [--cases 10000,100000] [--processes 2,4] [--json FILE]
    [--smoke]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import report
from .memory import peak_mib
from .timing import SEED, WrongAnswer

_EVERY = 2500  # one dump in so many is wrong
_ELEMENTS = 2048  # half: 4 KiB


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a few seconds, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--cases", default="10000,100000", help="each a run of its own")
    parser.add_argument("--processes", default="2,4", help="of the least run, again")
    parser.add_argument("--alone", metavar="FILE", help="verify in this process")
    args = parser.parse_args(argv)
    if args.alone:
        return _alone(args.alone)
    if args.smoke:
        args.cases, args.processes = "60", "2"
    print(report.machine())
    rows, figures = [], []
    sizes = sorted(map(int, args.cases.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        write_dumps(Path(folder), sizes[-1])
        for cases in sizes:
            file = _first(Path(folder), cases)
            ran = _run(["-m", "benchmarks.bench_dumps", "--alone", str(file)], cases)
            told = json.loads(ran.pop("last"))
            rows.append({"cases": cases, **ran, **told})
            target = "< 2048" if cases >= 100_000 else ""
            name = f"{cases} dumps of 4 KiB"
            figures.append(report.Figure(f"{name}, peak MiB", told["mib"], target))
            figures.append(report.Figure(f"{name}, cases/s", cases / ran["seconds"]))
        for processes in map(int, args.processes.split(",")):
            file = _first(Path(folder), sizes[0])
            words = ["-m", "ascjax", "verify", str(file), "--quiet"]
            words += ["--processes", str(processes)]
            ran = _run(words, sizes[0])
            rows.append({"processes": processes, "seconds": ran["seconds"]})
            name = f"{sizes[0]} dumps, {processes} processes, cases/s"
            figures.append(report.Figure(name, sizes[0] / ran["seconds"]))
    print(*figures, sep="\n")
    report.save(args.json, rows, figures)
    return 0


def write_dumps(folder: Path, cases: int) -> None:
    """Cases of load2d in `all.jsonl`, each with three .bin files of its own; their
    answers are NumPy's, one element of each 2,500th changed."""
    rng = np.random.default_rng(SEED)
    c = 256
    with (folder / "all.jsonl").open("w", encoding="utf-8") as out:
        for k in range(cases):
            repeats, stride = (int(x) for x in rng.integers(1, (9, 4)))
            src, before = rng.integers(0, 2**16, (2, _ELEMENTS), np.uint16)
            repeats = min(repeats, (_ELEMENTS // c - 1) // stride + 1)
            after = before.copy()
            rows = src.reshape(-1, c)[: repeats * stride : stride][:repeats]
            after[: repeats * c] = rows.reshape(-1)
            after[0] ^= k % _EVERY == 0
            case = {
                "id": str(k),
                **{"instruction": "load2d", "product": "atlas_a2", "path": "A1->A2"},
                "dtype": "half",
                "fields": {"repeatTimes": repeats, "srcStride": stride},
            }
            for name, held in (("src", src), ("dst_before", before)):
                held.tofile(folder / f"{k}.{name}.bin")
                case[name] = f"{k}.{name}.bin"
            after.tofile(folder / f"{k}.bin")
            out.write(json.dumps({**case, "dst_after": f"{k}.bin"}) + "\n")


def _first(folder: Path, cases: int) -> Path:
    file = folder / f"first_{cases}.jsonl"
    with (folder / "all.jsonl").open() as every, file.open("w") as out:
        out.writelines(line for _, line in zip(range(cases), every, strict=False))
    return file


def _run(words: Sequence[str], cases: int) -> dict:
    """A command in a process of its own; all that is wrong must be found."""
    env = {"JAX_PLATFORMS": "cpu", **os.environ}
    start = time.perf_counter()
    command = [sys.executable, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    wrong = -(-cases // _EVERY)
    want = f"{cases - wrong} of {cases} cases passed, {wrong} failed"
    if done.returncode not in (0, 1) or want not in done.stdout:
        raise WrongAnswer(done.stdout[-2000:] + done.stderr[-2000:])
    return {"seconds": seconds, "last": done.stdout.splitlines()[-1]}


def _alone(file: str) -> int:
    """The command in this process, and what it took as a line of JSON."""
    from ascjax import cli

    status = cli.main(["verify", file, "--quiet"])
    print(json.dumps({"mib": peak_mib(), "status": status}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
