"""Every planted fault is found by the check that is there for it."""

import functools
import re

import jax
import numpy as np
import pytest
from brute import plan_index
from cases import CASES, nddma
from faults import FAULTS, instead, planted
from goldens import FILL, GOLDEN, SETS
from helpers import check_gradients, check_move, check_same, moved, operands

import ascjax as asc
from ascjax import _call, _ends, _move, _packed, _steps
from ascjax.verify import Case, Step, check_case, read_cases
from ascjax.verify._engine import make_move

pytestmark = pytest.mark.quick

# --- what the checks look at


def case_of(why, instruction, fields, src_size, dst_size, dtype="half", **rest):
    """A case that must be refused because of `why`, or a legal one if that is None."""
    starts = (rest.pop("src_offset", 0), rest.pop("dst_offset", 0))
    site = {"product": None, "path": None, **rest}
    return Case(
        id=why or f"legal {instruction}",
        file="",
        steps=(Step(instruction, fields, *starts),),
        dtype=dtype,
        src_size=src_size,
        dst_size=dst_size,
        why=why,
        **site,
    )


ONE = {"repeatTimes": 1}
L1 = {"path": "A1->A2"}
PADDED = {
    "loopSrcStride": [1, 9],
    "loopDstStride": [1, 16],
    "loopSize": [7, 3],
    "config": {"loopLpSize": 2, "loopRpSize": 1},
}
INTERLEAVED = {
    "ndNum": 3,
    "nValue": 2,
    "dValue": 16,
    "srcNdMatrixStride": 1,
    "srcNStride": 2,
    "dstDStride": 64,
    "dstNdMatrixStride": 40,
}
BYTE_ROWS = {
    "ndNum": 1,
    "nValue": 2,
    "dValue": 35,
    "srcDValue": 40,
    "dstNzC0Stride": 4,
    "dstNzNStride": 1,
}
BLOCKS = {"blockCount": 2, "blockLen": 2, "srcGap": 1, "dstGap": 3}
PADDED_RUNS = {
    "blockCount": 2,
    "blockLen": 40,
    "srcStride": 12,
    "dstStride": 1,
    "padParams": {"isPad": True, "leftPadding": 1, "rightPadding": 2},
}
MOVES = [
    case_of(None, "nddma", PADDED, 25, 90),
    case_of(None, "nz2nd", INTERLEAVED, 600, 160),
    case_of(None, "nd2nz", BYTE_ROWS, 80, 200, "int4b_t"),
    case_of(None, "data_copy", BLOCKS, 200, 300),
    case_of(None, "data_copy_pad", PADDED_RUNS, 60, 90, "float"),
]
EDGES = [
    case_of("one element short", "load2d", ONE, 255, 256),
    case_of("one element over", "load2d", ONE, 256, 255),
    case_of("one above the range", "load2d", {"startIndex": 65536}, 9, 9),
    case_of("half a block off", "load2d", ONE, 999, 999, src_offset=8, **L1),
    case_of("two bytes off", "load2d", ONE, 999, 999, src_offset=1, **L1),
    case_of(None, "load2d", ONE, 999, 999, src_offset=16, **L1),
    case_of(None, "load2d", {"startIndex": 65535}, 0, 0, src_offset=16),
    case_of(None, "load2d", {"dstGap": 65535, **ONE}, 256, 256),
    case_of(None, "nz2nd", {"ndNum": 1, "nValue": 1, "dValue": 16}, 16, 16),
]


@functools.cache
def golden_cases(name):
    return [
        case for case in read_cases(GOLDEN / f"{name}.json") if case.instruction in SETS
    ]


@functools.cache
def golden_moves():
    """The small golden cases of the six sets, and the loops of calls."""
    every = [case for name in (*SETS, "callsites") for case in golden_cases(name)]
    return [c for c in every if len(c.steps) > 1 or c.src_size + c.dst_size <= 6000]


# --- the checks: each yields, in words, what it finds wrong


def found_by(name, check, *args):
    """What an asserting check finds, as a list of at most one line. Another exception
    is no finding, and goes on."""
    try:
        check(*args)
    except (AssertionError, asc.AscendError) as error:
        said = " ".join(str(error).split())[:200]
        return [f"{name}: {type(error).__name__}: {said}"]
    return []


def check_map():
    """The engine's map is the golden one and the oracle's."""
    for case in (*golden_moves(), *MOVES):
        result = check_case(case)
        if result.status != "ok":
            yield f"{case.id}: {result.message}"


def check_refusal():
    """What must be refused is refused, and what is legal is not."""
    for case in (*golden_cases("invalid"), *EDGES):
        result = check_case(case)
        if result.status != ("ok" if case.why is None else "refused"):
            yield f"{case.id}: {result.message}"


def check_plan():
    """The steps of a plan mean the map of its move."""

    def check(move):
        np.testing.assert_array_equal(plan_index(move.plan), move.index_map.index)

    for case in (*golden_moves(), *MOVES):
        yield from found_by(case.id, check, make_move(case))


def check_op():
    """An op leaves, bit for bit, what the map says."""
    for name in (
        "load2d_gap",
        "nz2nd",
        "nddma_constant",
        "nddma_nearest",
        "sequence_two_paddings",
    ):
        case, move = CASES[name], CASES[name].moved()
        yield from found_by(name, check_move, move, case.run, *operands(move))
    minus = asc.data_copy(
        np.zeros(1, "float32"), nddma((1,), (1,), (1,), (1,), fill=-0.0)
    )
    want = np.array([-0.0, 0.0], "float32")
    yield from found_by("-0.0", check_same, minus, want)


def check_gradient():
    """Cotangents and tangents are the map's, exactly."""
    for name in ("load2d_repeat", "load2d_gap", "sequence_irregular", "nddma_constant"):
        case, move = CASES[name], CASES[name].moved()
        src, dst = operands(move)
        yield from found_by(name, check_gradients, move, case.run, src, dst)
        if any(move.fills):
            tangent = jax.jvp(case.run, (src, dst), (src, dst))[1]
            filled = move.index_map.index <= FILL
            want = np.where(filled, np.zeros_like(dst), moved(move, src, dst))
            yield from found_by(name, check_same, tangent, want)


def check_packed():
    """Packed bytes hold what unpacked elements do."""
    fractal, square = asc.LoadData2DParams(0, 1), asc.LoadData2dTransposeParams(0, 1)
    for params, src_offset in ((fractal, 3), (fractal, 4), (square, 0)):
        move = asc.Move.of(
            params, dtype="int4b_t", src_size=4100, dst_size=4100, src_offset=src_offset
        )
        nibbles = np.random.default_rng(0).integers(0, 16, 4100, np.uint8)
        left = moved(move, nibbles)
        out = asc.run_move(move, nibbles[::2] | nibbles[1::2] << 4)
        name = f"{params.instruction} from {src_offset}"
        yield from found_by(name, check_same, out, left[::2] | left[1::2] << 4)


CHECKS = {
    "map": check_map,
    "refusal": check_refusal,
    "plan": check_plan,
    "op": check_op,
    "gradient": check_gradient,
    "packed": check_packed,
}


def suspicion(check, plant=None):
    """The first thing that a check finds wrong while a fault is planted, or None."""
    with planted(plant):
        return next(CHECKS[check](), None)


FINDINGS = {"AssertionError"} | {n for n in vars(asc) if n.endswith("Error")}


def finding(check, plant):
    """What a check finds of a fault: a wrong result or a wrong refusal. That the plant
    itself breaks is not one, whether it is raised or `check_case` reports it."""
    found = suspicion(check, plant)
    assert found is not None, f"{check} finds nothing"
    raised = set(re.findall(r"\b[A-Z]\w*(?:Error|Exception)\b", found))
    assert raised <= FINDINGS, found
    return found


# --- the controls


@pytest.mark.parametrize("check", CHECKS)
def test_without_a_fault_nothing_is_found(check):
    assert suspicion(check) is None


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    assert finding(*FAULTS[name])


@pytest.mark.parametrize(
    "check, where, name",
    [
        ("map", asc.LoadData2DParams, "nest"),
        ("refusal", _call, "check_bounds"),
        ("plan", _move, "lower_nest"),
        ("op", _ends.Write, "write"),
        ("gradient", _steps, "add_up"),
        ("packed", _packed, "unpack"),
    ],
)
def test_a_plant_that_breaks_is_not_found(check, where, name):
    def breaks(*_):
        raise TypeError("plant is broken")

    with pytest.raises((TypeError, AssertionError), match="plant is broken"):
        finding(check, instead(where, name, breaks))


def test_a_fault_that_is_not_found_is_told():
    with pytest.raises(AssertionError, match="plan finds nothing"):
        finding("plan", lambda patch: None)


def test_there_are_faults_enough_and_for_every_check():
    assert len(FAULTS) >= 30
    assert {check for check, _ in FAULTS.values()} == CHECKS.keys()


def test_a_fault_leaves_nothing_behind():
    check, plant = FAULTS["the kept destination is zeroed"]
    assert suspicion(check, plant) is not None
    assert next(CHECKS[check](), None) is None
