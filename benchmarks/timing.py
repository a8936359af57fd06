"""Medians of calls interleaved in random order, after a check of the answer."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import numpy as np

SEED = 2024
LEAST = 5  # samples of the slowest variant


Name = TypeVar("Name")


class WrongAnswer(AssertionError):
    """A variant that does not give the answer; it is not timed."""


def bits(x: Any) -> np.ndarray:
    """The bit patterns of an array as unsigned integers of its width."""
    array = np.asarray(x, order="C")
    raw = array.view(f"uint{8 * array.dtype.itemsize}").reshape(-1)
    return raw & 15 if array.dtype.name in ("int4", "uint4") else raw


def check(name: str, got: Any, want: np.ndarray) -> None:
    """Raise WrongAnswer where `got` is not `want`, bit for bit."""
    got, want = bits(got), bits(want)
    if got.shape != want.shape:
        raise WrongAnswer(f"{name}: {got.size} elements, not {want.size}")
    wrong = np.flatnonzero(got != want)
    if wrong.size:
        raise WrongAnswer(f"{name}: {wrong.size} wrong elements, first {wrong[0]}")


def medians(
    variants: Mapping[Name, Callable[[], Any]], seconds: float, most: int = 200
) -> dict[Name, float]:
    """The median time of one blocked call of each variant, in seconds.

    Each round calls every variant once, in an order drawn anew. A variant that has used
    up `seconds` sits out once it has LEAST samples.
    """
    draw = random.Random(SEED)
    for call in (*variants.values(), *variants.values()):  # compile, then warm
        jax.block_until_ready(call())
    samples: dict[Name, list[float]] = {name: [] for name in variants}
    for _ in range(most):
        live = [
            name
            for name, taken in samples.items()
            if len(taken) < LEAST or sum(taken) < seconds
        ]
        for name in draw.sample(live, len(live)):
            call = variants[name]
            start = time.perf_counter()
            jax.block_until_ready(call())
            samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in samples.items()}
