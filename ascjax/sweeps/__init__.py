"""Thousands of moves under one compilation: `sweep`, and `run_jobs` below it."""

from ._batch import Job as Job
from ._jobs import run_jobs as run_jobs
from ._sweep import Sweep as Sweep
from ._sweep import sweep as sweep
