"""The built-in suite: random legal sets of every instruction, product, path and type,
and the documents' own examples."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .._errors import AscendError
from .._products import PRODUCTS, Product
from ..instr import REGISTRY, Params, Site
from ..sweeps._maps import class_of, compiled, maps
from ._cases import Case
from ._check import Check, one_line
from ._coverage import coverage
from ._documents import Example, examples
from ._entry import Step
from ._names import COMPUTES
from ._result import Result
from ._samples import BUILDERS, sample
from ._values import draw_values

DEFAULT_CASES = 6
"""Sets of each combination: more than 2,000 in all, in well under a minute."""

UNBUILT_CASES = 24
"""Sets, at least, of each combination of an instruction without a builder, whose values
are all small. One in eight at most is a NOP."""

_OPS = 8  # one combination in so many has no set that goes through an op

_CHUNK = 512  # checks whose maps are held at one time


def run_suite(
    cases: int,
    seed: int,
    *,
    only: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Result], dict[str, Any]]:
    """Every instruction on every product, path and type that has it.

    Args:
      cases: sets of each of these combinations; in seven of eight combinations one
        set, and every example of the documents, also goes through its own jitted op.
      only: the instructions to check; all of them where empty.
      seed: of the random sets; the same `cases` and seed give the same ones.
      progress: called with (done, total) as checks end.

    Returns the results, and numbers of the run, ready for JSON: "sets" (random ones),
    "documents", "own_jit", "interpreter_cases_per_s" (compiling not counted),
    "interpreter_compile_s" and "coverage" (see `coverage`).
    """
    documents = [of_example(example) for example in examples()]
    among = combinations()
    if only:
        documents = [check for check in documents if check.case.instruction in only]
        among = [one for one in among if one[0] in only]
    valued = not only or not COMPUTES.keys().isdisjoint(only)
    values = list(draw_values(-(-cases // 2), seed)) if valued else []
    total = sum(_sets(instruction, cases) for instruction, _ in among)
    total += len(documents) + len(values)
    checks = itertools.chain(documents, draw(among, cases, seed), values)
    return run_checks(checks, progress=lambda done: progress and progress(done, total))


# --- what is checked


def combinations() -> list[tuple[str, Site]]:
    """Every instruction x product x path x type of the support tables. Where a table is
    the same for all its products, each path and type has one of these, in turn."""
    return [
        (instruction, params.site(product, path, name))
        for instruction, params in REGISTRY.items()
        for product, path, name in _places(params)
    ]


def _places(params: type[Params]) -> Iterator[tuple[Product, str, str]]:
    """Product, path and type of each combination of one instruction."""
    having = [product for product in PRODUCTS.values() if params.paths(product)]
    alike = all(params.paths(product) == params.paths() for product in having)
    turn = itertools.cycle(having)
    for product in [None] if alike else having:
        for path, names in params.paths(product).items():
            for name in names:
                yield product or next(turn), path, name


def draw(among: Sequence[tuple[str, Site]], cases: int, seed: int) -> Iterator[Check]:
    """Random legal sets, `cases` for each combination, more where the instruction has
    no builder; in seven combinations of eight, other ones for each seed, one goes
    through its own op."""
    for number, (instruction, site) in enumerate(among):
        for k in range(_sets(instruction, cases)):
            rng = np.random.default_rng([seed % 2**63, number, k])
            name = f"{instruction} {site.product} {site.path} {site.type} {seed}/{k}"
            op = k == number % cases and (number + seed) % _OPS != _OPS - 1
            yield _drawn(name, instruction, site, rng, op=op, nop=k % 8 == 7)


def _sets(instruction: str, cases: int) -> int:
    """Sets of one combination: without a builder, so many that `cases` are no NOPs."""
    if instruction in BUILDERS:
        return cases
    return max(UNBUILT_CASES, cases + cases // 7)


def _drawn(
    name: str,
    instruction: str,
    site: Site,
    rng: np.random.Generator,
    *,
    op: bool,
    nop: bool,
) -> Check:
    product, type = str(site.product), site.type.name

    def choose(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    try:
        made = sample(instruction, site, choose, nop=nop)
    except Exception as error:  # a fault in the params must not end the suite
        steps = (Step(instruction, {}),)
        case = Case(name, "", steps, product, site.path, type, 0, 0)
        check = Check(case)
        known = isinstance(error, AscendError)
        check.end("error", f"no legal set: {error if known else one_line(error)}")
        return check
    starts = made.src_offset, made.dst_offset
    steps = (Step(instruction, made.params.to_fields(), *starts),)
    sizes = made.src_size, made.dst_size
    return Check(Case(name, "", steps, product, site.path, type, *sizes), through_op=op)


def of_example(example: Example) -> Check:
    """The check of a document's example."""
    steps = tuple(
        Step(c.params.instruction, c.params.to_fields(), c.src_offset, c.dst_offset)
        for c in example.calls
    )
    case = Case(
        id=example.id,
        file="",
        steps=steps,
        product=example.product,
        path=example.path,
        dtype=example.dtype,
        src_size=example.src_size,
        dst_size=example.expected.size,
        why=example.refused or None,
    )
    return Check(case, stated=example.expected, through_op=True)


# --- the run


def run_checks(
    checks: Iterable[Check], *, progress: Callable[[int], Any] = lambda done: None
) -> tuple[list[Result], dict[str, Any]]:
    """All checks, each by every way that it has; returns what `run_suite` does.

    >>> results, numbers = run_checks(draw(combinations()[:1], cases=2, seed=0))
    >>> numbers["sets"], numbers["own_jit"], {result.status for result in results}
    (2, 1, {'ok'})
    """
    results: list[Result] = []
    fields: list[tuple[Any, ...]] = []
    counts = {"sets": 0, "documents": 0, "own_jit": 0}
    speed = _Speed()
    source = iter(checks)
    # XLA lets go of Python while it compiles, so that threads help
    pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        while chunk := list(itertools.islice(source, _CHUNK)):
            for check in chunk:
                check.by_maps()
            speed.add(*_by_interpreter(chunk))
            own = [check for check in chunk if check.runs_op]
            ended = len(results) + len(chunk) - len(own)
            progress(ended)
            for k, _ in enumerate(pool.map(lambda check: check.by_op(), own), 1):
                progress(ended + k)
            results += [check.result() for check in chunk]
            fields += [
                (step.instruction, step.fields, check.case.dtype, *check.case.site)
                for check in chunk
                if check.compared
                for step in check.case.steps
            ]
            counts["documents"] += sum(check.stated is not None for check in chunk)
            counts["own_jit"] += sum("op" in check.compared for check in chunk)
    finally:
        pool.shutdown(cancel_futures=True)
    counts["sets"] = len(results) - counts["documents"]
    return results, {**counts, **speed.to_json(), "coverage": coverage(fields)}


@dataclasses.dataclass
class _Speed:
    """Of the interpreter."""

    cases: int = 0
    seconds: float = 0.0
    compile_s: float = 0.0

    def add(self, cases: int, seconds: float, compile_s: float) -> None:
        self.cases += cases
        self.seconds += seconds
        self.compile_s += compile_s

    def to_json(self) -> dict[str, float]:
        rate = self.cases / self.seconds if self.seconds else 0.0
        return {
            "interpreter_cases_per_s": round(rate, 1),
            "interpreter_compile_s": round(self.compile_s, 3),
        }


def _by_interpreter(checks: Sequence[Check]) -> tuple[int, float, float]:
    """Compare with the interpreter's maps; cases, seconds to run and to compile."""
    encoded = [(check, code) for check in checks if (code := check.encoded())]
    codes = [code for _, code in encoded]
    dst_sizes = [check.wrong.size for check, _ in encoded]
    times = [time.perf_counter()]
    for kind, size in set(map(class_of, codes, dst_sizes)):
        compiled(kind, size)
    times.append(time.perf_counter())
    found = list(maps(codes, dst_sizes))
    times.append(time.perf_counter())
    for k, index in found:
        encoded[k][0].by_interpreter(index, (times[2] - times[1]) / len(codes))
    return len(codes), times[2] - times[1], times[1] - times[0]
