"""What `import ascjax` adds to importing JAX and Equinox, each time in a new process.

python -m benchmarks.bench_import [--smoke]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from . import report

_PEERS = "jax, equinox"
_CODE = """
import time
start = time.perf_counter()
import jax, equinox
peers = time.perf_counter()
import {name}
print(peers - start, time.perf_counter() - peers)
"""
_NAMES = ("ascjax", "ascjax.cli", "ascjax.pictures", "optax")


def seconds(name: str) -> tuple[float, float]:
    """Of importing JAX and Equinox, and of what `name` adds, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(name=name)],
        capture_output=True,
        text=True,
        check=True,
    )
    peers, own = map(float, done.stdout.split())
    return peers, own


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the medians and the least."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="each once")
    args = parser.parse_args(argv)
    print(report.machine())
    taken: dict[str, list[float]] = {}
    for _ in range(1 if args.smoke else 9):
        for name in _NAMES:
            peers, own = seconds(name)
            taken.setdefault(_PEERS, []).append(peers)
            taken.setdefault(name, []).append(own)
    for name, times in taken.items():
        ms = sorted(1000 * t for t in times)
        print(f"{name:16} median {ms[len(ms) // 2]:7.0f} ms, least {ms[0]:7.0f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
