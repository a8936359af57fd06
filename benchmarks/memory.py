"""The most memory that a process has held."""

from __future__ import annotations

import re
import resource
from pathlib import Path


def peak_mib() -> float:
    """That of this process. Linux's ru_maxrss counts what was held by the process that
    started it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(kib) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # of macOS, bytes
