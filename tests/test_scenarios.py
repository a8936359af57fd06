"""Scenarios: A and B must stand in L0A and L0B, element by element."""

import dataclasses
import json
import re

import pytest
from case_file_helpers import GOLDEN, golden, scenario_of_one_fractal, write

from ascjax._nest import Loop, LoopNest
from ascjax.cli import main
from ascjax.instr import REGISTRY, Params, integer
from ascjax.verify import check_case, read_cases


@dataclasses.dataclass(frozen=True)
class _Nd2Nz:
    """ND2NZ as instructions.md, section 6, has it: enough to run the scenarios."""

    nd_num: int = integer(0, 4095, "matrices")
    n_value: int = integer(0, 16384, "rows")
    d_value: int = integer(0, 65535, "columns")
    src_nd_matrix_stride: int = integer(0, 65535, "elements")
    src_d_value: int = integer(0, 65535, "elements")
    dst_nz_c0_stride: int = integer(0, 16384, "blocks")
    dst_nz_n_stride: int = integer(0, 16384, "blocks")
    dst_nz_matrix_stride: int = integer(0, 65535, "elements")

    def nest(self, site):
        c0 = 256 // max(site.type.bits, 8)
        loops = [
            Loop("nd", self.nd_num, self.dst_nz_matrix_stride),
            Loop("r", self.n_value, self.dst_nz_n_stride * c0),
            Loop("b", -(-self.d_value // c0), self.dst_nz_c0_stride * c0),
            Loop("e", c0, 1),
        ]
        column = ({"b": c0, "e": 1}, 1, 0, self.d_value, "fill")
        rows = ({"nd": 1}, self.src_nd_matrix_stride), ({"r": 1}, self.src_d_value)
        return LoopNest.build(0, 0, loops, [*rows, column])


@pytest.fixture
def nd2nz(monkeypatch):
    """ND2NZ registered for one test, in the engine but not in the oracle."""
    types = "int4b_t int8_t uint8_t half bfloat16_t float int32_t uint32_t"
    support = {"GM->A1 GM->B1": types}
    members = {
        "instruction": "nd2nz",
        "op": "data_copy",
        "source": "ND2NZ",
        "support": {"atlas_a2": support, "atlas_350": support},
    }
    monkeypatch.setitem(REGISTRY, "nd2nz", None)
    return type("Nd2Nz", (_Nd2Nz, Params), members)


def test_matrices_of_the_scenarios_land_in_l0(nd2nz):
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
def test_a_lost_call_of_a_scenario_is_found(nd2nz, tmp_path, name, part, side):
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
    assert re.match(
        rf"{side.upper()}: row \d+, column \d+ of the matrix", result.message
    )
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


def test_a_case_with_neither_map_nor_oracle_fails(nd2nz, tmp_path):
    cases, maps = golden("nd2nz", pick=slice(1))
    (case,) = read_cases(write(tmp_path, cases))
    result = check_case(case)
    assert result.status == "error"
    assert "nothing to compare with: the oracle has no nd2nz, and no map is in an" in (
        result.message
    )
    (case,) = read_cases(write(tmp_path, cases, maps))
    assert check_case(case).compared == ("map",)
