"""A dot for each variant of each row; matplotlib is imported only here."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def plot(path: Path | None, rows: Sequence[dict[str, Any]], title: str) -> None:
    """Times in microseconds by row, as a picture, where a file is asked for."""
    if path is None:
        return
    importlib.import_module("matplotlib").use("agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    names = sorted({name for row in rows for name in row["seconds"]})
    figure, axes = pyplot.subplots(
        figsize=(9, 1.5 + 0.2 * len(rows)), layout="constrained"
    )
    for name in names:
        at = [k for k, row in enumerate(rows) if name in row["seconds"]]
        times = [1e6 * rows[k]["seconds"][name] for k in at]
        axes.plot(times, at, "o" if name == "ours" else ".", label=name)
    labels = [
        ", ".join(str(row[key]) for key in ("case", "type", "size", "direction"))
        for row in rows
    ]
    axes.set_yticks(range(len(rows)), labels, fontsize=6)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("microseconds, median")
    axes.set_title(title)
    axes.legend()
    axes.grid(axis="x", which="both", alpha=0.3)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
