"""The built-in suite: it passes, says what it did, and goes red at planted faults."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import ascjax as asc
from ascjax import _ops, oracle
from ascjax.instr import REGISTRY, Params, Site, integer, params_class
from ascjax.verify import _check, _suite
from ascjax.verify._coverage import coverage
from ascjax.verify._documents import UNSTATED, examples
from ascjax.verify._op_map import op_map
from ascjax.verify._suite import combinations, draw, of_example, run_checks, run_suite

pytestmark = pytest.mark.quick

KEEP, FILL = -1, -2


def few(instruction, *types, cases=4, seed=0, op=False):
    """Some sets of one instruction, on the first path that has each type."""
    sites = {
        site.type.name: site for name, site in combinations() if name == instruction
    }
    among = [(instruction, sites[name]) for name in types or list(sites)[:2]]
    for check in draw(among, cases, seed):
        check.through_op = check.through_op and op
        yield check


def failures(checks):
    results, _ = run_checks(checks)
    return [result for result in results if result.failed]


# --- it passes, and says what it did


def test_the_suite_passes_and_counts(monkeypatch):
    among = combinations()[::40]
    monkeypatch.setattr(_suite, "combinations", lambda: among)
    monkeypatch.setattr(_suite, "draw_values", lambda cases, seed: ())
    calls = []
    results, numbers = run_suite(2, 5, progress=lambda *args: calls.append(args))
    assert [r for r in results if r.failed] == []
    assert numbers["sets"] == 2 * len(among)
    assert numbers["documents"] == len(examples()) == len(results) - numbers["sets"]
    refused = sum(r.status == "refused" for r in results)
    skipped = sum((k + 5) % 8 == 7 for k in range(len(among)))
    assert numbers["own_jit"] == len(among) - skipped + len(examples()) - refused > 20
    assert numbers["interpreter_cases_per_s"] > 0
    assert calls[-1] == (len(results), len(results))
    assert json.loads(json.dumps(numbers))["coverage"]["load2d"]["cases"] > 0
    drawn = [r for r in results if r.elements and len(r.compared) > 1]
    for result in drawn[18:]:
        runs = result.instruction == "load3dv2"  # the interpreter has only loops
        wanted = {"oracle"} if runs else {"oracle", "interpreter"}
        assert wanted <= {*result.compared}


def test_only_limits_sets_and_documents():
    results, numbers = run_suite(1, 0, only=["nz2nd"])
    assert {result.instruction for result in results} == {"nz2nd"}
    sites = [one for one in combinations() if one[0] == "nz2nd"]
    assert numbers["sets"] == len(sites) and numbers["documents"] == 3


def test_by_default_it_runs_over_2000_sets_and_400_ops():
    among = combinations()
    assert len(among) * _suite.DEFAULT_CASES >= 2000
    for seed in (0, 3):
        ops = [check for check in draw(among, 1, seed) if check.through_op]
        assert len(ops) >= 400  # the documents' examples come on top
        assert {check.case.instruction for check in ops} == REGISTRY.keys()


def test_products_with_one_table_take_turns():
    sites = [site for name, site in combinations() if name == "data_copy_pad"]
    places = [(site.path, site.type.name) for site in sites]
    paths = params_class("data_copy_pad").paths()
    assert places == [(path, name) for path in paths for name in paths[path]]
    assert len({site.product for site in sites}) == len(asc.PRODUCTS) - 1
    of_nz2nd = {site.product for name, site in combinations() if name == "nz2nd"}
    assert len(of_nz2nd) == 4, "tables that differ are drawn for every product"


def test_each_combination_has_an_op_for_most_seeds():
    def through_op(seed):
        return [check.through_op for check in draw(combinations()[:9], 1, seed)]

    skipped = [
        k for seed in range(8) for k, op in enumerate(through_op(seed)) if not op
    ]
    assert sorted(skipped) == list(range(9))


def test_a_seed_always_gives_the_same_sets():
    def drawn(seed):
        return [check.case for check in few("nddma", cases=9, seed=seed)]

    one, again, other = (
        [(c.steps, c.src_size, c.dst_size) for c in drawn(seed)] for seed in (1, 1, -1)
    )
    assert one == again != other


# --- the documents' examples


@pytest.mark.parametrize("example", examples(), ids=lambda e: e.id)
def test_a_documents_example(example):
    ((result,), _) = run_checks([of_example(example)])
    assert result.status == ("refused" if example.refused else "ok"), result.message


def stated(part):
    (example,) = [example for example in examples() if part in example.id]
    return example.expected


def test_what_the_documents_state_is_written_down_right():
    printed = stated("NZ2ND, Examples")
    assert (printed[16] + 1, printed[47] + 1, printed[-1] + 1) == (513, 32, 1024)
    assert printed[64] == UNSTATED
    assert stated("NZ2ND, Figure 1")[[16, 48, 160]].tolist() == [64, 256, 16]
    assert stated("NZ2ND, Figure 2")[[16, 40, 144, 32]].tolist() == [64, 256, 16, KEEP]
    padded = stated("NDDMA, Example")
    assert padded[:20].tolist() == [FILL] * 19 + [0] and padded[42] == 15
    assert stated("Figure 2: start")[[0, 512, 768]].tolist() == [
        12 * 256,
        KEEP,
        17 * 256,
    ]
    # row 1 of a transposed square is column 1, 32 elements a row
    assert stated("int8_t, dstGap 1")[[1, 32, 512]].tolist() == [32, 1, 16]
    assert stated("third and fourth")[[0, 1, 8]].tolist() == [256, 264, 257]


def test_the_overlapping_figure_is_refused_for_its_overlap():
    ((result,), _) = run_checks(
        of_example(example) for example in examples() if example.refused
    )
    assert "dst must be written at most once" in result.message


def test_a_wrong_statement_turns_red():
    (example,) = [e for e in examples() if "NDDMA" in e.id]
    wrong = example.expected.copy()
    wrong[19] = 1
    ((result,), _) = run_checks(
        [of_example(dataclasses.replace(example, expected=wrong))]
    )
    assert (result.status, result.mismatches) == ("mismatch", 1)
    assert result.message.startswith("against the document: destination element 19")


# --- planted faults


def test_the_checks_of_faults_below_pass_without_one():
    assert failures(few("load2d", "half", cases=12, op=True)) == []
    assert failures(few("nddma", "int8_t", cases=12, op=True)) == []


def test_a_gap_read_as_a_stride_is_caught(monkeypatch):
    right = asc.LoadData2DParams.nest

    def wrong(self, site):
        gap = max(self.dst_gap - 1, 0)
        return right(dataclasses.replace(self, dst_gap=gap), site)

    monkeypatch.setattr(asc.LoadData2DParams, "nest", wrong)
    (first, *_) = failures(few("load2d", "half", cases=40))
    assert first.status == "mismatch" and 0 < first.mismatches < first.elements
    assert first.message.startswith("against the oracle: destination element")
    assert "expected nothing (not written), got source element" in first.message


def test_a_leaked_fill_is_caught(monkeypatch):
    right = asc.NdDmaParams.nest

    def wrong(self, site):
        nest = right(self, site)
        coords = tuple(
            dataclasses.replace(c, outside="clamp") if c.outside == "fill" else c
            for c in nest.coords
        )
        return dataclasses.replace(nest, coords=coords)

    monkeypatch.setattr(asc.NdDmaParams, "nest", wrong)
    (first, *_) = failures(few("nddma", "int8_t", cases=20))
    assert "expected padding, got source element" in first.message


def test_a_wrong_interpreter_is_caught(monkeypatch):
    right = _check.encode

    def wrong(nest):
        code = right(nest)
        numbers = list(code.numbers)
        numbers[2] += 1  # src_start
        return code._replace(numbers=numbers)

    monkeypatch.setattr(_check, "encode", wrong)
    (first, *_) = failures(few("load2d", "half", cases=12))
    assert first.message.startswith("the interpreter against the engine's map: dest")


def test_a_wrong_op_is_caught(monkeypatch):
    right = _ops.load_data

    def wrong(src, params, **options):
        return right(src, params, **options).at[..., 0].set(src[..., -1])

    monkeypatch.setattr(_ops, "load_data", wrong)
    (first, *_) = failures(few("load2d", "half", cases=2, op=True))
    assert first.message.startswith("the jitted op against the engine's map: dest")
    assert first.mismatches == 1


def test_an_op_that_fails_is_an_error_and_no_end(monkeypatch):
    def wrong(src, params, **options):
        raise TypeError("no such\nthing")

    monkeypatch.setattr(_ops, "load_data", wrong)
    (only,) = failures(few("load2d", "half", cases=2, op=True))
    assert (only.status, only.message) == (
        "error",
        "the op fails: TypeError: no such thing",
    )


def test_a_legal_set_that_is_refused_is_an_error(monkeypatch):
    def never(self, site):
        raise asc.SupportError("load2d", "fields", "be absent", "some", "Give up.")

    monkeypatch.setattr(asc.LoadData2DParams, "rules", never)
    found = failures(few("load2d", "half", cases=2))
    assert len(found) == 2
    assert found[0].message.startswith("refused: load2d: fields must be")


def test_params_that_cannot_be_made_are_errors(monkeypatch):
    monkeypatch.setattr(asc.LoadData2DParams, "__post_init__", lambda self: 1 // 0)
    found = failures(few("load2d", "half", cases=2))
    assert [result.status for result in found] == ["error"] * 2
    assert found[0].message.startswith("no legal set: ZeroDivisionError")


def test_a_nest_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(asc.LoadData2DParams, "nest", lambda self, site: 1 // 0)
    found = failures(few("load2d", "half", cases=2))
    assert [result.status for result in found] == ["error"] * 2
    assert found[0].message.startswith("ZeroDivisionError: ")


def test_an_oracle_that_refuses_is_an_error(monkeypatch):
    def never(fields, bits):
        raise asc.ParamError("oracle", "fields", "be absent", "some", "Give up.")

    checks = list(few("load2d", "half", cases=2))
    monkeypatch.setitem(oracle.INSTRUCTIONS, "load2d", never)
    (first, _) = failures(checks)
    assert first.message.startswith("the engine accepts it, the oracle refuses: oracle")


# --- a sixth instruction


@pytest.fixture
def reverse():
    """A made-up instruction, without a builder of samples and without an oracle."""

    class Reverse(Params):
        instruction = "reverse"
        op = "data_copy"
        source = "nowhere"
        support = {"atlas_a2": {"GM->VECIN": "half"}}
        count: int = integer(0, 100, "elements")

        def nest(self, site):
            return asc.LoopNest.strided(
                max(self.count - 1, 0), 0, ("i", self.count, -1, 1)
            )

    yield [("reverse", Site(asc.ATLAS_A2, "GM->VECIN", asc.ascend_type("half")))]
    del REGISTRY["reverse"]


def test_an_instruction_without_an_oracle_is_not_passed(reverse):
    results, _ = run_checks(draw(reverse, 2, 0))
    assert {(r.status, r.message) for r in results} == {
        ("error", "nothing to compare with: the oracle has no reverse")
    }


def test_a_sixth_instruction_takes_part(reverse):
    @oracle.instruction("reverse")
    def rule(fields, bits):
        i = np.arange(fields["count"])
        yield i, fields["count"] - 1 - i

    try:
        results, numbers = run_checks(draw(reverse, 5, 0))
    finally:
        del oracle.INSTRUCTIONS["reverse"]
    assert {result.status for result in results} == {"ok"}
    assert numbers["own_jit"] == 1
    assert numbers["coverage"]["reverse"]["fields"]["count"]["range"] == [0, 100]


# --- coverage


def test_coverage_counts_ends_odd_values_and_kinds():
    info = {
        "loopSrcStride": [1, 2**40 - 1],
        "loopDstStride": [1, 4],
        "loopSize": [3, 1],
        "loopLpSize": [0, 255],
        "loopRpSize": [0, 0],
        "config": {"isNearestValueMode": True, "loopLpSize": 0xFFFF, "loopRpSize": 7},
    }
    unknown = {"nSize": 3, "mode": "x", "config": {"on": 1}}
    found = coverage([("nddma", info, "half"), ("conv", unknown, "half")])
    fields = found["nddma"]["fields"]
    assert fields["loopSrcStride"]["max"] == fields["loopLpSize"]["max"] == 1
    assert fields["loopLpSize"]["zero"] == fields["isNearestValueMode"]["max"] == 1
    assert fields["config.loopLpSize"]["zero"] == 0  # unset is no value
    assert fields["config.loopRpSize"]["odd"] == 1
    kinds = dict.fromkeys(("nop", "gaps", "decreasing", "transpose", "padding"), 0)
    assert found["nddma"]["kinds"] == {**kinds, "padding": 1}
    assert found["conv"]["kinds"] == kinds
    assert found["conv"]["fields"]["nSize"] == {
        **{"range": None, "zero": 0, "min": 0, "max": 0},
        "odd": 1,
    }
    assert found["conv"]["fields"]["config.on"]["odd"] == 1


def kinds_of(instruction, fields, dtype="half"):
    found = coverage([(instruction, fields, dtype)])[instruction]["kinds"]
    return {kind for kind, count in found.items() if count}


def test_kinds_are_those_of_the_nest():
    back = {"mStep": 1, "kStep": 2, "kStartPosition": 1, "srcStride": -1}
    assert kinds_of("load2dv2", {**back, "dstStride": 3}) == {"decreasing", "gaps"}
    turned = {**back, "dstStride": 3, "ifTranspose": True}
    assert kinds_of("load2dv2", turned) == {"decreasing", "transpose"}
    apart = {"repeatTimes": 1, "dstFracGap": 1}
    assert kinds_of("ldwt_v1", apart) == {"transpose"}  # one fractal a square
    assert kinds_of("ldwt_v1", apart, "int8_t") == {"transpose", "gaps"}
    assert kinds_of("ldwt_v1", {"repeatTimes": 300}) == set()
    swapped = {"loopSrcStride": [4, 1], "loopDstStride": [1, 4], "loopSize": [4, 4]}
    assert kinds_of("nddma", swapped) == {"transpose"}
    assert kinds_of("nddma", {**swapped, "loopSrcStride": [2, 8]}) == set()


def test_an_absent_field_counts_as_its_default_and_an_unset_one_nowhere():
    lists = {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [1]}
    fields = coverage([("nddma", lists, "half")])["nddma"]["fields"]
    assert fields["loopLpSize"]["zero"] == fields["loopLpSize"]["min"] == 1
    assert fields["isNearestValueMode"]["zero"] == 1
    for name in ("config.loopLpSize", "config.loopRpSize"):
        counts = {"zero": 0, "min": 0, "max": 0, "odd": 0}
        assert fields[name] == {"range": [0, 255], **counts}


# --- maps through the op


@pytest.mark.optimised
@pytest.mark.parametrize(
    "name",
    ["bool", "int4b_t", "fp4x2_e2m1_t", "fp8_e8m0_t", "half", "float", "complex64"],
)
def test_the_op_moves_every_number_of_every_width(name):
    info = asc.NdDmaLoopInfo((1, 40), (1, 60), (30, 9), (2, 0), (3, 1))
    params = asc.Nz2NdParamsFull(2, 5, 32, 2, 8, 75, 33)
    if name in ("bool", "half", "float", "complex64"):
        params = asc.NdDmaParams(info, 0)
    elif name in ("int4b_t", "fp4x2_e2m1_t"):
        params = asc.LoadData2DParams(1, 2, 3, dst_gap=1)
    move = asc.Move.of(params, dtype=name, src_size=9000, dst_size=9000, dst_offset=64)
    np.testing.assert_array_equal(op_map(move), move.index_map.index)


def test_the_map_of_the_op_shows_what_is_lost_kept_or_padded(monkeypatch):
    info = asc.NdDmaLoopInfo((1,), (1,), (3,), (2,))
    move = asc.Move.of(asc.NdDmaParams(info, 9), dtype="int8_t", src_size=4, dst_size=7)
    assert op_map(move).tolist() == [FILL, FILL, 0, 1, 2, KEEP, KEEP]
    right = _ops.data_copy

    def wrong(src, params, *, dst, **options):
        out = right(src, params, dst=dst, **options)
        out = out.at[..., 0].set(dst[..., 0]).at[..., 3].set(jax.numpy.int8(9))
        return out.at[..., 5].set(dst[..., 6]).at[..., 6].set(dst[..., 6] ^ 64)

    monkeypatch.setattr(_ops, "data_copy", wrong)
    index = op_map(move)
    assert index[:5].tolist() == [KEEP, FILL, 0, FILL, 2]
    assert index[5] >= 4 and index[6] >= 4  # neither the source's nor the kept one
