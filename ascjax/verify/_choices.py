"""Choices that a builder of legal params makes, all from `draw(low, high)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Draw = Callable[[int, int], int]
"""An integer in [low, high]."""


def one_of(draw: Draw, options: Sequence[Any]) -> Any:
    """One of `options`, each as likely."""
    return options[draw(0, len(options) - 1)]


def chance(draw: Draw, one_in: int) -> bool:
    """True once in `one_in` draws."""
    return draw(1, one_in) == one_in


def free(draw: Draw, low: int, high: int) -> int:
    """Anything in range, the ends often: for a field that cannot do harm."""
    return one_of(draw, (low, high, draw(low, high), min(high, low + draw(0, 9))))


def budget(draw: Draw) -> int:
    """Elements that a set may move: about 4096, a few times eight times as many."""
    return 32768 if chance(draw, 40) else 4096


def count(draw: Draw, most: int) -> int:
    """A count in [1, most]: 1, small or the most."""
    return one_of(draw, (1, draw(1, min(4, most)), draw(1, most), most))


def lattice(draw: Draw, n: int, m: int, most: int) -> tuple[int, int]:
    """Strides (a, b) for which x*a + y*b, x < n, y < m, are distinct.

    They clash only where b/g < n and a/g < m (g the common divisor): packed either way
    round, or interleaved. (n-1)*a + (m-1)*b stays within `most` or twice the least.
    """
    most = max(most, 2 * n * m)
    pairs = [
        (a, b)
        for a in range(1, max(9, m + 2))
        for b in range(1, max(9, n + 2))
        if (b // math.gcd(a, b) >= n or a // math.gcd(a, b) >= m)
        and (n - 1) * a + (m - 1) * b < most
    ]
    return one_of(draw, pairs)
