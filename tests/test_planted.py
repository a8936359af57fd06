"""2,000 dumps of every instruction, 40 of them with a fault: the command finds exactly
those, and a diagnosis has the cause first."""

import collections
import json

import numpy as np
import planted
import pytest

from ascjax import cli
from ascjax.diagnosis._case import of_case
from ascjax.instr import REGISTRY
from ascjax.verify import stream_cases

pytestmark = [pytest.mark.long]

FAULTS = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(the dumps, the folder, the command's status, its results)."""
    folder = tmp_path_factory.mktemp("planted")
    made = planted.dumps(0, 2000, FAULTS)
    planted.write(folder, made)
    report = folder / "report.out"
    status = cli.main(["verify", str(folder), "--json", str(report), "--quiet"])
    return made, folder, status, json.loads(report.read_text())["results"]


def test_the_dumps_are_of_every_instruction_and_the_faults_of_many_kinds(run):
    made = run[0]
    assert {dump.claim.instruction for dump in made} == {*REGISTRY}
    assert {planted.bits_of(dump.claim) for dump in made} == {4, 8, 16, 32, 64}
    kinds = collections.Counter(dump.kind for dump in made if dump.kind)
    assert sum(kinds.values()) == FAULTS and len(kinds) >= 12
    assert max(kinds.values()) <= 4


def test_the_command_finds_exactly_the_faults(run):
    made, _, status, results = run
    assert (status, len(results)) == (1, 2000)
    wrong = {one["id"] for one in results if one["status"] != "ok"}
    assert wrong == {f"dump {k}" for k, dump in enumerate(made) if dump.kind}
    failed = [one for one in results if one["status"] != "ok"]
    assert {one["status"] for one in failed} == {"mismatch"}
    assert all(one["first"]["expected"] != one["first"]["got"] for one in failed)


def test_the_cause_comes_first(run):
    made, folder, *_ = run
    right, wrong = 0, []
    for file in ("first.json", "second.jsonl"):
        for case in stream_cases(folder / file):
            dump = made[int(case.id.removeprefix("dump "))]
            if dump.kind:
                told = of_case(case)
                good = planted.says(dump, told)
                right += good
                wrong += [] if good else [f"{dump.kind}: {told}"]
    assert right + len(wrong) == FAULTS
    assert right >= 36, "\n".join(wrong)


def test_the_judge_of_causes_goes_red(run):
    """A diagnosis of another fault is not taken for right."""
    made, folder, *_ = run
    cases = {case.id: case for case in stream_cases(folder / "first.json")}
    named = [k for k, dump in enumerate(made[:1000]) if dump.kind in planted.CALLS]
    told = [of_case(cases[f"dump {k}"]) for k in named[:4]]
    for k, one in zip(named[:4], told, strict=True):
        call = made[k].claim
        claimed = made[k].cause._replace(fields=call.fields)
        assert not planted.says(_with(made[k], claimed), one)
        assert not planted.says(_with(made[k], "no such words"), one)


def _with(dump, cause):
    return planted.Dump(
        dump.claim, dump.site, dump.src, dump.before, dump.after, dump.kind, cause
    )


def test_the_generator_is_seeded():
    one, two = (planted.dumps(5, 30, 6) for _ in range(2))
    assert [d.claim for d in one] == [d.claim for d in two]
    assert all(np.array_equal(a.after, b.after) for a, b in zip(one, two, strict=True))
