"""Groups of cases, each with one trait and on one product or on any: which of them
stands out among those that fail."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._chance import drawn_at_least
from ._trait import EVERY, TESTS, Trait
from ._traits import SITE

ANY = "any product"

_LEAST = 3  # failing cases of a group that stands out
_PART = 0.05  # the part of what fails, times that of what passes and is not in it
_SITES = ("case", "instruction", "path", "dtype")


class Group(NamedTuple):
    """The cases with one trait that are on one product, or on any."""

    trait: Trait
    product: str

    @property
    def parents(self) -> Iterator[Group]:
        """The larger groups in which it has to stand out."""
        if self.product != ANY:
            yield Group(self.trait, ANY)
        if self.trait.instruction:
            whole = Trait("", "instruction", "is", self.trait.instruction)
            yield Group(whole, self.product)
            if self.trait.key in SITE:
                yield Group(self.trait._replace(instruction=""), self.product)
        elif self.trait != EVERY:
            yield Group(EVERY, self.product)

    def said(self, instruction: bool) -> tuple[str, str]:
        """A verb and words, such as ("have", "dstGap odd"); with the name of the
        instruction where there are several."""
        trait = self.trait
        named = trait.value if trait.key == "instruction" else trait.instruction
        words = [named] if named and (instruction or named == trait.value) else []
        if self.product != ANY:
            words.append(f"on {self.product or 'no product'}")
        if trait == EVERY or trait.key == "instruction":
            return "are", " ".join(words)
        if not words:
            return "have", trait.said
        return "are", " ".join([*words, "with", trait.said])

    @property
    def tier(self) -> int:
        """0 for a site, 1 for what splits all cases in two, 2 for other traits, 3 for
        pairs: few are of a low tier, so that less evidence is enough for one."""
        trait = self.trait
        if self.product != ANY and trait != EVERY:
            return 3
        if trait.key in _SITES and not trait.instruction:
            return 0
        halves = trait.test in ("mod 2", "below", "off") or isinstance(
            trait.value, bool
        )
        return 1 if halves or trait[2:] == ("at least", 1) else 2

    @property
    def plainness(self) -> tuple[Any, ...]:
        """Of two groups of the same cases the lesser is told."""
        key, test = self.trait.key, self.trait.test
        site = _SITES.index(key) if key in _SITES else len(_SITES)
        return self.tier == 3, site, TESTS.index(test), str(self)


_TIERS = 4
ALL = Group(EVERY, ANY)

_Case = tuple[str, Iterable[int]]  # its product, the numbers of its traits
Counts = dict[str, collections.Counter[int]]
"""{product: {number of a trait: cases}}."""


def count(case: _Case, counts: Counts) -> None:
    """Add one case to counts."""
    product, numbers = case
    if product not in counts:
        counts[product] = collections.Counter()
    counts[product].update(numbers)


def counted(cases: Iterable[_Case]) -> Counts:
    """The counts of cases."""
    found: Counts = {}
    for case in cases:
        count(case, found)
    return found


def table(counts: Counts, traits: Sequence[Trait]) -> collections.Counter[Group]:
    """How many cases are in each group; a size is in all bounds up to it."""
    bounds: dict[tuple[str, str], set[int]] = {}
    for trait in traits:
        if trait.test == "size":
            bounds.setdefault(trait[:2], {1}).add(trait.value)
    found: collections.Counter[Group] = collections.Counter()
    for product, of_product in counts.items():
        sizes: dict[tuple[str, str], dict[int, int]] = {}
        for number, cases in of_product.items():
            trait = traits[number]
            if trait.test == "size":
                sizes.setdefault(trait[:2], {})[trait.value] = cases
                continue
            for where in dict.fromkeys((product, ANY)):
                found[Group(trait, where)] += cases
        for field, of_size in sizes.items():
            for bound in bounds[field]:
                trait = Trait(*field, "at least", bound)
                cases = sum(n for size, n in of_size.items() if size >= bound)
                for where in dict.fromkeys((product, ANY)):
                    found[Group(trait, where)] += cases
    return found


def best(
    failing: Mapping[Group, int], passing: Mapping[Group, int], chance: float
) -> Group | None:
    """The group that chance is least likely to have made of failing cases; None where
    any is as likely as `chance`, all that are tried taken together.

    A group has to stand out in each of its parents. Tiers share `chance` evenly.
    """
    fail, ok = failing[ALL], passing[ALL]
    sizes = collections.Counter(failing)
    sizes.update(passing)
    tried = collections.Counter(g.tier for g, size in sizes.items() if size >= _LEAST)
    found = []
    for group, wrong in failing.items():
        size = sizes[group]
        part = wrong * (ok - size + wrong)
        if wrong < _LEAST or part < _PART * fail * ok:
            continue
        inside = max(
            (
                drawn_at_least(wrong, size, failing[parent], sizes[parent])
                for parent in group.parents
            ),
            default=0.0,
        )
        if inside + math.log(_TIERS * tried[group.tier]) < math.log(chance):
            overall = drawn_at_least(wrong, size, fail, fail + ok)
            found.append((round(overall, 6), group.plainness, group))
    return min(found)[-1] if found else None


def outside(
    group: Group, traits: Sequence[Trait], cases: Iterable[_Case]
) -> list[_Case]:
    """The cases that are not in a group."""
    key, least = group.trait[:2], group.trait.value
    bound = group.trait.test == "at least"
    numbers = {
        number
        for number, one in enumerate(traits)
        if one == group.trait
        or (bound and one.test == "size" and one[:2] == key and one.value >= least)
    }
    return [
        (product, held)
        for product, held in cases
        if group.product not in (ANY, product) or numbers.isdisjoint(held)
    ]
