"""What all scripts share: options, the machine's name, figures, JSON."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax

Row = dict[str, Any]
LARGE = 2**20  # bytes from which on numpy is compared


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the summary: a value, what it should be, and where it comes from."""

    name: str
    value: float
    target: str = ""
    where: str = ""

    def __str__(self) -> str:
        target = f"  (target {self.target})" if self.target else ""
        where = f"  {self.where}" if self.where else ""
        return f"{self.name:58} {self.value:8.2f}{target}{where}"


def options(
    about: str | None, types: str, sizes: str, smoke: tuple[str, str]
) -> argparse.ArgumentParser:
    """A script's options; `smoke` is the types and sizes of `--smoke`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--smoke", action="store_true", help="a few seconds, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="needs matplotlib")
    parser.add_argument("--types", help=f"separated by commas (default {types})")
    parser.add_argument("--sizes", help=f"separated by commas (default {sizes})")
    parser.set_defaults(defaults=((types, sizes), smoke))
    return parser


def chosen(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The types and sizes to run."""
    types, sizes = args.defaults[int(args.smoke)]
    return (args.types or types).split(","), (args.sizes or sizes).split(",")


def machine() -> dict[str, Any]:
    """Device and versions; no date and no host name."""
    names = ("jax", "jaxlib", "numpy", "einops", "torch")
    found = [name for name in names if importlib.util.find_spec(name)]
    device = jax.devices()[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {
        "device": _processor() if device.platform == "cpu" else device.device_kind,
        "platform": device.platform,
        "cores": cores or os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in found},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def geomean(values: Iterable[float]) -> float:
    """The geometric mean; NaN of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def label(row: Row) -> str:
    """A row's name with type and size."""
    return f"{row['case']}, {row['type']}, {row['size']}"


def ratios(rows: Sequence[Row], peer: str) -> list[tuple[float, Row]]:
    """(the peer's time / ours, row) where there is the peer, the slowest first."""
    pairs = [
        (row["seconds"][peer] / row["seconds"]["ours"], row)
        for row in rows
        if peer in row["seconds"]
    ]
    return sorted(pairs, key=lambda pair: pair[0])


def figures(rows: Sequence[Row]) -> list[Figure]:
    """The summary of `bench_moves`.

    Identities count nowhere, jnp.int4 has no target. Against targets: forward.
    """
    count = [r for r in rows if not r["identity"] and r["type"] != "jnp.int4"]
    forward = [r for r in count if r["direction"] == "forward"]
    backward = [r for r in count if r["direction"] == "backward"]
    element = [r for r in forward if r["element"]]
    plain = [r for r in forward if not r["element"]]
    kept = [r for r in plain if r["given_dst"]]
    rest = [r for r in plain if not r["given_dst"]]
    large = [r for r in forward if r["bytes"] >= LARGE]
    found = [_mean("copy / ours, geomean", forward, "copy", ">= 0.65")]
    found += [
        _mean("copy / ours, geomean, no element transposes", plain, "copy"),
        _worst("copy / ours, worst", rest, "copy", ">= 0.35"),
        _worst("copy / ours, worst gap with a given dst", kept, "copy", ">= 0.30"),
        _worst("copy / ours, worst element transpose", element, "copy", ">= 0.12"),
        _mean("flat jnp / ours, geomean", forward, "flat", ">= 3"),
        _worst("flat jnp / ours, worst", forward, "flat", ">= 0.95"),
        _mean("einops / ours, geomean", forward, "einops"),
        _mean("x[idx] / ours, geomean", forward, "x[idx]", ">= 3"),
        _mean("numpy / ours, geomean, 1 MiB and more", large, "numpy", ">= 1.3"),
        _mean("torch / ours, geomean, 1 MiB and more", large, "torch"),
        _back("backward / forward, injective, geomean", forward, backward, "<= 1.3"),
        _mean("backward: copy / ours, geomean", backward, "copy"),
        _mean("backward: flat jnp / ours, geomean", backward, "flat"),
        _worst("backward: flat jnp / ours, worst", backward, "flat"),
        _mean("backward: x[idx] / ours, geomean", backward, "x[idx]"),
    ]
    return [figure for figure in found if not math.isnan(figure.value)]


def _mean(name: str, rows: Sequence[Row], peer: str, target: str = "") -> Figure:
    pairs = ratios(rows, peer)
    where = f"over {len(pairs)}"
    return Figure(name, geomean(ratio for ratio, _ in pairs), target, where)


def _worst(name: str, rows: Sequence[Row], peer: str, target: str = "") -> Figure:
    pairs = ratios(rows, peer)
    if not pairs:
        return Figure(name, math.nan, target)
    return Figure(name, pairs[0][0], target, label(pairs[0][1]))


def _back(
    name: str, forward: Sequence[Row], backward: Sequence[Row], target: str
) -> Figure:
    there = {label(row): row["seconds"]["ours"] for row in forward}
    values = [
        row["seconds"]["ours"] / there[label(row)]
        for row in backward
        if row["injective"] and label(row) in there
    ]
    return Figure(name, geomean(values), target, f"over {len(values)}")


def save(path: Path | None, rows: Sequence[Row], found: Sequence[Figure]) -> None:
    """Write results as JSON, where a file is asked for."""
    if path is None:
        return
    data = {
        "machine": machine(),
        "figures": [dataclasses.asdict(figure) for figure in found],
        "rows": list(rows),
    }
    path.write_text(json.dumps(data, indent=1) + "\n")
