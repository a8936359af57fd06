"""How likely it is that chance alone brings what was counted."""

from __future__ import annotations

import math


def drawn_at_least(hits: int, drawn: int, marked: int, all: int) -> float:
    """The natural logarithm of the chance that `drawn` of `all` things, `marked` of
    them marked, hold at least `hits` marked ones: Fisher's exact test, one-sided.

    >>> round(math.exp(drawn_at_least(3, 3, 3, 6)), 3)  # one way of twenty
    0.05
    """
    if hits * all <= drawn * marked:
        return 0.0
    plain = all - marked - drawn
    ratios = (
        (marked - k) * (drawn - k) / ((k + 1) * (plain + k + 1))
        for k in range(hits, min(drawn, marked))
    )
    first = _choose(marked, hits) + _choose(all - marked, drawn - hits)
    return _tail(first - _choose(all, drawn), ratios)


def thrown_at_least(hits: int, thrown: int, chance: float) -> float:
    """The same for `thrown` throws, each a hit by `chance`: the binomial test.

    >>> round(math.exp(thrown_at_least(10, 10, 0.5)) * 1024, 6)
    1.0
    """
    if hits <= thrown * chance:
        return 0.0
    odds = chance / (1 - chance)
    ratios = ((thrown - k) / (k + 1) * odds for k in range(hits, thrown))
    misses = (thrown - hits) * math.log1p(-chance)
    return _tail(_choose(thrown, hits) + hits * math.log(chance) + misses, ratios)


def _tail(first: float, ratios) -> float:
    """The logarithm of a sum, from that of its first term, the largest, and from what
    each term is of the one before."""
    total = term = 1.0
    for ratio in ratios:
        term *= ratio
        total += term
        if term < 1e-12 * total:
            break
    return min(0.0, first + math.log(total))


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
