"""Scenarios: A and B must stand in L0A and L0B, element by element."""

import json
import re

import pytest
from case_file_helpers import GOLDEN, golden, scenario_of_one_fractal, write

from ascjax.cli import main
from ascjax.oracle import INSTRUCTIONS
from ascjax.verify import check_case, read_cases


def test_matrices_of_the_scenarios_land_in_l0():
    """4-bit ones in packed bytes included."""
    results = [check_case(case) for case in read_cases(GOLDEN / "scenarios.json")]
    statuses = [result.status for result in results]
    assert statuses == ["ok"] * 44
    whole = next(result for result in results if result.id == "a2_03_40x50x70")
    assert whole.elements == 40 * 70 + 50 * 70


@pytest.mark.parametrize(
    "name", ["a2_01_40x50x70", "a2_06_40x50x70", "950_07_40x50x70"]
)
@pytest.mark.parametrize("part", ["gm_to_l1", "l1_to_l0"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_a_lost_call_of_a_scenario_is_found(tmp_path, name, part, side):
    scenarios = json.loads((GOLDEN / "scenarios.json").read_text())
    (scenario,) = [one for one in scenarios if one["id"] == name]
    scenario[side][part][-1]["fields"] |= {"ndNum": 0} if "gm" in part else {}
    if "gm" not in part:
        count = {"load2d": "repeatTimes", "load2dv2": "mStep"}
        last = scenario[side][part][-1]
        last["fields"][count[last["instruction"]]] = 0
    (case,) = read_cases(write(tmp_path, [scenario]))
    result = check_case(case)
    assert result.status == "mismatch" and result.mismatches > 0
    place = rf"{side.upper()}: row \d+, column \d+ of the matrix"
    assert re.match(place, result.message)
    assert re.search(r"got (nothing \(not written\)|padding)$", result.message)


FLIPPED = [{"instruction": "load2d", "fields": {"repeatTimes": 1, "ifTranspose": True}}]


def test_a_scenario_of_supported_instructions_runs(capsys, tmp_path):
    assert main(["verify", str(write(tmp_path, [scenario_of_one_fractal()]))]) == 0
    assert re.search(r"scenario +1 +0 +0 +0 +512 +0", capsys.readouterr().out)
    both = scenario_of_one_fractal(l1_to_l0=FLIPPED, transpose=True)
    assert main(["verify", str(write(tmp_path, [both]))]) == 0


@pytest.mark.parametrize("change", [{"l1_to_l0": FLIPPED}, {"transpose": True}])
def test_a_scenario_that_lands_transposed_is_found(capsys, tmp_path, change):
    file = write(tmp_path, [scenario_of_one_fractal(**change)])
    assert main(["verify", str(file)]) == 1
    told = (
        "tiny: mismatch: A: row 0, column 1 of the matrix, L0A element 1 (fractal 0, "
        "row 0, column 1): expected source element"
    )
    out = capsys.readouterr().out
    assert told in out and "[240 of 512 elements]" in out


def test_a_scenario_that_leaves_its_buffers_is_an_error(tmp_path):
    far = scenario_of_one_fractal(gm_shape=[3200, 16], l0_shape=[3200, 16])
    far["m"] = 3200
    (case,) = read_cases(write(tmp_path, [far]))
    result = check_case(case)
    assert result.status == "error"
    assert "scenario: l0_shape must fit L0A, 32768 elements of half" in result.message


def test_a_case_with_neither_map_nor_oracle_fails(tmp_path, monkeypatch):
    monkeypatch.delitem(INSTRUCTIONS, "nd2nz")
    cases, maps = golden("nd2nz", pick=slice(1))
    (case,) = read_cases(write(tmp_path, cases))
    result = check_case(case)
    assert result.status == "error"
    assert "nothing to compare with: the oracle has no nd2nz, and no map is in an" in (
        result.message
    )
    (case,) = read_cases(write(tmp_path, cases, maps))
    assert check_case(case).compared == ("map",)
