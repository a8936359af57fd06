"""Batches over eight devices: `on_eight_devices.py`, in a process that has them."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "on_eight_devices.py"


@pytest.mark.long
def test_moves_on_eight_devices():
    """The number of devices is fixed when JAX starts, so this takes its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", TESTS],
        cwd=TESTS.parent.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
