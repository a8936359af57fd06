"""What failing cases have in common: planted patterns are found, chance makes none."""

import dataclasses
import io
import json
import math
import pickle
import re

import numpy as np
import pytest
import scipy.stats
from rich.console import Console

from ascjax.patterns._chance import drawn_at_least, thrown_at_least
from ascjax.patterns._patterns import Patterns, print_patterns
from ascjax.patterns._trait import Trait, alike, rounded
from ascjax.patterns._traits import FIELDS, VALUES, Traits
from ascjax.verify import Result, Step
from ascjax.verify._result import Mismatch

PRODUCTS = ("atlas_a2", "atlas_a3", "atlas_350")
TYPES = ("half", "int8_t", "float")


def drawn(rng, instruction):
    """Fields as a sweep may have them."""
    if instruction == "load2d":
        return {
            "startIndex": int(rng.integers(0, 65536)),
            "repeatTimes": int(rng.integers(1, 256)),
            "srcStride": int(rng.integers(0, 7)),
            "dstGap": int(rng.integers(0, 8)),
            "ifTranspose": bool(rng.integers(2)),
        }
    return {
        "loopSize": [int(n) for n in rng.integers(1, 9, 3)],
        "config": {"ascOptimize": bool(rng.integers(2))},
    }


def drawn_cases(seed, count=2000):
    """Calls at random, on three products, of two instructions; each passes."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        instruction = ("load2d", "nddma")[int(rng.integers(4) == 0)]
        step = Step(
            instruction,
            drawn(rng, instruction),
            int(rng.integers(0, 4)) * 256,
            int(rng.integers(0, 4)) * 16,
        )
        yield Result(
            str(k),
            instruction,
            "ok",
            product=PRODUCTS[int(rng.integers(3))],
            path="A1->A2" if instruction == "load2d" else "GM->VECIN",
            dtype=TYPES[int(rng.integers(3))],
            calls=(step,),
        )


def at_random(rng, **fixed):
    """The first mismatch of a case, anywhere in 16 fractals."""
    places = {"fractal": 16, "row": 16, "column": 16}
    place = {name: int(rng.integers(n)) for name, n in places.items()} | fixed
    element = (place["fractal"] * 16 + place["row"]) * 16 + place["column"]
    return Mismatch(element, **place, expected="0x6258", got="0x4500")


def of(is_wrong, *, seed=0, most=200, noise=0.0, count=2000, status="mismatch", **at):
    """The patterns of a run: the first cases of a kind fail, and some at random."""
    patterns, rng = Patterns(), np.random.default_rng([seed, 1])
    for result in drawn_cases(seed, count):
        planted = most > 0 and bool(is_wrong(result))
        most -= planted
        if planted or rng.random() < noise:
            place = {name: f(rng) for name, f in at.items()} if planted else {}
            first = at_random(rng, **place)
            result = dataclasses.replace(result, status=status, first=first)
        patterns.add(result)
    return patterns.found()


def never(result):
    return False


def field(result, name, absent=-1):
    return result.calls[0].fields.get(name, absent)


# --- planted

PLANTED = [
    (lambda r: field(r, "dstGap") == 3, "dstGap", "is", 3),
    (lambda r: field(r, "ifTranspose") is True, "ifTranspose", "is", True),
    (lambda r: field(r, "dstGap", 0) % 2, "dstGap", "mod 2", 1),
    (lambda r: field(r, "startIndex") % 16 == 0, "startIndex", "mod 16", 0),
    (lambda r: field(r, "repeatTimes") >= 224, "repeatTimes", "at least", 224),
    (lambda r: field(r, "srcStride") > 0, "srcStride", "at least", 1),
    (lambda r: r.product == "atlas_350", "product", "is", "atlas_350"),
    (lambda r: r.dtype == "float", "dtype", "is", "float"),
    (lambda r: r.instruction == "nddma", "instruction", "is", "nddma"),
    (lambda r: (r.instruction, r.dtype) == ("nddma", "half"), "dtype", "is", "half"),
    (lambda r: field(r, "loopSize", [0, 0])[1] == 5, "loopSize[1]", "is", 5),
    (lambda r: field(r, "config", {}).get("ascOptimize"), "ascOptimize", "is", True),
    (lambda r: r.calls[0].src_offset == 0, "src_offset", "is", 0),
    (lambda r: r.calls[0].dst_offset > 0, "dst_offset", "at least", 1),
]


@pytest.mark.parametrize(("is_wrong", "key", "test", "value"), PLANTED)
def test_what_is_planted_is_found_first(is_wrong, key, test, value):
    for seed in (0, 1):
        found = of(is_wrong, seed=seed, most=150)[0]
        assert (found.key, found.test, found.value) == (key, test, value), found
        assert found.failing == found.failing_of <= 150
        assert found.product == ("atlas_350" if key == "product" else "")


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_a_pair_is_found_before_its_parts(noise):
    def pair(result):
        return result.product == "atlas_350" and field(result, "dstGap") == 3

    found = of(pair, noise=noise)[0]
    names = found.instruction, found.product, found.key, found.value
    assert names == ("load2d", "atlas_350", "dstGap", 3)


def test_the_counts_are_those_of_the_run():
    odd = {r.id for r in drawn_cases(5) if field(r, "dstGap", 0) % 2}
    wrong = set(sorted(odd, key=int)[:-3])
    found = of(lambda r: r.id in wrong, seed=5, most=2000)[0]
    assert (found.failing, found.failing_of) == (len(wrong), len(wrong))
    assert (found.passing, found.passing_of) == (3, 2000 - len(wrong))
    assert found.words == (
        f"all {len(wrong)} mismatches are load2d with dstGap odd; so are 3 of the "
        f"{2000 - len(wrong):,} that pass"
    )


def test_no_product_is_counted_twice_whatever_its_name_is():
    patterns = Patterns()
    for k, one in enumerate(drawn_cases(5, 300)):
        status = "error" if field(one, "dstGap") == 3 else "ok"
        product = "any product" if k % 2 else one.product
        patterns.add(dataclasses.replace(one, product=product, status=status))
    found = patterns.found()[0]
    assert found.failing_of + found.passing_of == 300


def test_of_a_single_instruction_its_name_is_left_out():
    patterns = Patterns()
    for k in range(300):
        step = Step("load2d", {"repeatTimes": 1, "dstGap": k % 7})
        status = "error" if k % 7 == 6 else "ok"
        patterns.add(Result(str(k), "load2d", status, calls=(step,)))
    (found,) = patterns.found()
    assert found.words == (
        "all 42 errors have dstGap 6; none of the 258 that pass does"
    )


def test_mixed_faults_are_found_one_after_another():
    def mixed(result):
        return (
            field(result, "dstGap") == 5
            or (result.product == "atlas_a3" and result.dtype == "half")
            or field(result, "loopSize", [0, 0, 0])[2] == 7
        )

    found = [one for one in of(mixed, most=2000) if one.passing is not None]
    told = {(one.key, one.value, one.product) for one in found}
    assert told == {
        *(("dstGap", 5, ""), ("loopSize[2]", 7, "")),
        ("dtype", "half", "atlas_a3"),
    }
    assert found[0].failing < found[0].failing_of
    assert re.search("^all [0-9]+ other mismatches are ", found[-1].words)


@pytest.mark.parametrize("least", [2, 5])
def test_a_bound_leaves_nothing_of_what_it_explains(least):
    found = of(lambda r: field(r, "dstGap") >= least, most=2000)
    told = [(one.key, one.value) for one in found if one.passing is not None]
    assert told == [("dstGap", least)]


def test_values_that_never_repeat_are_found_by_residue():
    patterns = Patterns()
    for k in range(20_000):
        step = Step("load2d", {"startIndex": 3 * k, "repeatTimes": 1})
        status = "mismatch" if k > 10_000 and k % 400 == 4 else "ok"
        patterns.add(Result(str(k), "load2d", status, calls=(step,)))
    found = patterns.found()[0]
    assert (found.key, found.test, found.value) == ("startIndex", "mod 16", 12)


def test_one_call_of_several_is_enough():
    patterns = Patterns()
    for k in range(400):
        steps = tuple(
            Step("load2d", {"repeatTimes": 1, "dstGap": (k + j * 7) % 20})
            for j in range(3)
        )
        wrong = any(step.fields["dstGap"] == 11 for step in steps)
        patterns.add(
            Result(str(k), "load2d", "mismatch" if wrong else "ok", calls=steps)
        )
    found = patterns.found()[0]
    assert (
        found.words
        == "all 60 mismatches have dstGap 11; none of the 340 that pass does"
    )


def test_calls_of_two_instructions_are_cases_of_both():
    patterns = Patterns()
    for k in range(400):
        step = Step("load2d", {"dstGap": k % 9})
        steps = (step,) if k % 2 else (Step("nddma", {"loopSize": [k % 5]}), step)
        status = "mismatch" if k % 9 == 4 else "ok"
        name = steps[0].instruction
        patterns.add(Result(str(k), name, status, calls=steps))
    found = patterns.found()[0]
    assert found.words.startswith("all 44 mismatches are load2d with dstGap 4; none")


# --- how mismatches begin


@pytest.mark.parametrize(
    ("place", "key", "test", "value"),
    [
        ({"fractal": lambda g: 2 * g.integers(8) + 1}, "fractal", "mod 2", 1),
        ({"fractal": lambda g: 2 * g.integers(8)}, "fractal", "mod 2", 0),
        ({"row": lambda g: 2 * g.integers(8) + 1}, "row", "mod 2", 1),
        ({"column": lambda g: 2 * g.integers(8)}, "column", "mod 2", 0),
        ({"column": lambda g: 0}, "column", "is", 0),
        ({"row": lambda g: 8 + g.integers(8)}, "row", "at least", 8),
        ({"row": lambda g: g.integers(8)}, "row", "below", 8),
    ],
)
def test_a_place_is_found_first_where_nothing_else_is(place, key, test, value):
    wanted = {k for k in range(2000) if k % 50 == 7}
    found = of(lambda r: int(r.id) in wanted, **place)[0]
    assert (found.key, found.test, found.value) == (key, test, value)
    assert (found.failing, found.failing_of) == (40, 40)
    assert (found.passing, found.passing_of) == (None, None)
    assert found.words.startswith("all 40 mismatches begin in ")


@pytest.mark.parametrize(
    ("got", "message", "value"),
    [
        ("0x4500", "expected 0x6258, got 0x4500, as it was before", "unchanged"),
        ("0x0000", "", "zero"),
        ("0x4500", "got 0x4500, which source element 3 holds", "elsewhere"),
        ("17", "", "elsewhere"),
        ("-1", "", "unchanged"),
        ("-2", "", "padding"),
    ],
)
def test_what_was_got_is_told(got, message, value):
    patterns = Patterns()
    for k in range(40):
        first = Mismatch(k, None, None, None, "0x6258", got)
        patterns.add(Result("a", "nz2nd", "mismatch", message=message, first=first))
    assert [(one.key, one.value) for one in patterns.found()] == [("got", value)]


def test_mismatches_at_the_first_element_tell_no_place():
    """As where all of each destination is wrong."""
    patterns = Patterns()
    for k in range(200):
        first = Mismatch(0, 0, 0, 0, "0x6258", "0x4500")
        patterns.add(Result(str(k), "load2d", "mismatch", first=first))
    assert patterns.found() == []


# --- chance


def test_random_faults_have_no_pattern():
    """By its own measure, one run of a hundred may have one."""
    seen = [of(never, seed=seed, noise=0.02, count=1000) for seed in range(40)]
    assert sum(map(len, seen)) <= 2


def test_where_all_fails_or_passes_nothing_stands_out():
    assert of(never) == []
    assert of(lambda r: True, most=2000) == []


@pytest.mark.parametrize(
    "numbers", [(3, 3, 3, 6), (12, 15, 12, 2000), (9, 600, 10, 999)]
)
def test_fisher_s_test_is_scipy_s(numbers):
    hits, drawn, marked, every = numbers
    ours = drawn_at_least(hits, drawn, marked, every)
    theirs = scipy.stats.hypergeom.logsf(hits - 1, every, marked, drawn)
    assert math.isclose(ours, theirs, rel_tol=1e-9)


@pytest.mark.parametrize("numbers", [(10, 10, 0.5), (40, 50, 0.5), (400, 1000, 0.25)])
def test_the_binomial_test_is_scipy_s(numbers):
    hits, thrown, chance = numbers
    theirs = scipy.stats.binom.logsf(hits - 1, thrown, chance)
    assert math.isclose(thrown_at_least(*numbers), theirs, rel_tol=1e-9)


def test_less_than_the_mean_is_sure():
    assert (drawn_at_least(1, 10, 500, 1000), thrown_at_least(4, 10, 0.5)) == (0, 0)


# --- bounds of memory, files, print


@pytest.mark.parametrize("value", [0, 1, 7, 129, 65535, 2**40 + 5, -1, -77, 10**60])
def test_a_value_is_like_its_stand_in(value):
    other = alike(value)
    assert (other % 16, other < 0) == (value % 16, value < 0)
    if value > 0:
        assert rounded(other) == rounded(value) <= value


def test_traits_are_few_however_many_values_come():
    traits, rng = Traits(), np.random.default_rng(0)
    for k in range(5000):
        fields = {"startIndex": int(rng.integers(2**63)), "list": [k] * 99, "w": str(k)}
        step = Step("load2d", fields, k, k)
        site = {"product": f"p{k}", "path": f"path{k}", "dtype": "half"}
        product, _ = traits.of(Result("x", "load2d", "ok", calls=(step,), **site))
    assert product == ""
    per_field = VALUES + 30 + 4 * 64 + 2
    assert len(traits.all) < 24 * per_field


def test_names_of_fields_are_bounded_too():
    traits = Traits()
    for k in range(3000):
        traits.of(Result("x", "load2d", "ok", calls=(Step("load2d", {f"f{k}": 1}),)))
    assert len(traits.all) < 8 * FIELDS


def test_more_failures_than_are_kept_are_counted(monkeypatch):
    monkeypatch.setattr("ascjax.patterns._patterns.KEPT", 150)
    first, second = of(
        lambda r: field(r, "dstGap") == 3 or r.product == "atlas_350", most=2000
    )[:2]
    assert {first.key, second.key} == {"product", "dstGap"}
    assert first.failing_of == second.failing_of > 500
    assert f"of the {second.failing_of} mismatches" in second.words


def test_a_run_can_be_kept_and_gone_on_with():
    first, second = Patterns(), Patterns()
    for k, result in enumerate(drawn_cases(0)):
        if field(result, "dstGap") == 3:
            wrong = at_random(np.random.default_rng(k))
            result = dataclasses.replace(result, status="mismatch", first=wrong)
        first.add(result)
        second = pickle.loads(pickle.dumps(second)) if k == 1000 else second
        second.add(result)
    assert first.found() == second.found() != []


def test_files_at_fault_are_told_by_status():
    patterns = Patterns()
    for k, status in enumerate(
        ["missing", "truncated", "missing", "ok", "unsupported"]
    ):
        patterns.add(Result(str(k), "load2d", status))
    assert [(one.value, one.failing, one.words) for one in patterns.found()] == [
        ("missing", 2, "2 of 5 cases have a file that is missing"),
        ("truncated", 1, "1 of 5 cases have a file that is truncated"),
    ]


def test_to_dict_is_json_ready():
    held = of(lambda r: field(r, "dstGap") == 3)[0].to_dict()
    assert json.loads(json.dumps(held)) == held
    assert (held["instruction"], held["key"], held["value"]) == ("load2d", "dstGap", 3)


def printed(patterns):
    out = Console(record=True, width=60, file=io.StringIO())
    print_patterns(out, patterns)
    return out.export_text().splitlines()


def test_at_most_eight_lines_are_printed():
    one = of(lambda r: field(r, "dstGap") == 3)[0]
    assert printed([]) == []
    assert printed([one]) == ["patterns", f"  {one.words}"]
    assert len(printed([one] * 7)) == 8
    assert printed([one] * 30)[-1] == "  ... and 24 more"
    assert len(printed([one] * 30)) == 8


@pytest.mark.parametrize(
    ("trait", "words"),
    [
        (("", "dtype", "is", "half"), "type half"),
        (("", "calls", "is", "several calls"), "several calls"),
        (("", "src_offset", "off", 256), "src_offset off a whole fractal"),
        (("load2d", "ifTranspose", "is", True), "ifTranspose true"),
        (("load2d", "sid", "mod 4", 3), "sid 3 mod 4"),
        (("load2d", "sid", "mod 2", 0), "sid even"),
        (("load2d", "sid", "at least", 12), "sid at least 12"),
        (("load2d", "sid", "below", 0), "sid below 0"),
    ],
)
def test_traits_in_words(trait, words):
    assert Trait(*trait).said == words
