"""`asc.testing`: what the tests of a kernel repository use."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax import verify
from ascjax.testing import assert_same_move

SRC = np.arange(2048, dtype="float16")
P = asc.LoadData2DParams(repeat_times=3, src_stride=2)
BEFORE = np.full(2048, 7, "float16")


def left(params=P):
    return np.array(asc.load_data(SRC, params, dst=BEFORE))


@pytest.mark.parametrize("as_array", [np.asarray, jnp.asarray])
def test_the_same_move_passes(as_array):
    options = {"dtype": "half", "product": "910B", "path": "L1->L0A"}
    src, after, before = map(as_array, (SRC, left(), BEFORE))
    assert_same_move(src, after, P, dst_before=before, **options)
    assert_same_move(src, after, P)


def test_a_torch_tensor_is_an_array():
    torch = pytest.importorskip("torch")
    assert_same_move(torch.from_numpy(SRC), torch.from_numpy(left()), P)


def test_a_difference_says_where_and_why():
    other = asc.LoadData2DParams(repeat_times=3, src_stride=2, dst_gap=1)
    with pytest.raises(AssertionError) as failed:
        assert_same_move(SRC, left(other), P, dst_before=BEFORE, path="A1->A2")
    text = str(failed.value)
    assert text.startswith("load2d: 768 of 2048 elements differ, the first: ")
    assert "destination element 256 (fractal 1, row 0, column 0;" in text
    assert "\n  matches exactly if dst_gap were 1 (claimed 0)" in text
    with pytest.raises(AssertionError) as failed:
        assert_same_move(SRC, left(other), P, dst_before=BEFORE, diagnose=False)
    assert "matches" not in str(failed.value)


def test_cells_that_are_not_written_count_only_where_they_are_known():
    after = left()
    after[1000] = 1
    assert_same_move(SRC, after, P)
    with pytest.raises(AssertionError, match="1 of 2048 elements differ"):
        assert_same_move(SRC, after, P, dst_before=BEFORE)


def test_bits_are_compared():
    zeros = np.zeros(256, "float16")
    one = asc.LoadData2DParams(repeat_times=1)
    assert_same_move(zeros, zeros, one)
    with pytest.raises(AssertionError, match="expected 0x0000, got 0x8000"):
        assert_same_move(zeros, -zeros, one, diagnose=False)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: assert_same_move(SRC, left().astype("int8"), P),
            asc.ParamError,
            "^assert_same_move: dst_after must hold half",
        ),
        (
            lambda: assert_same_move(SRC, left(), P, dst_before=BEFORE[:9]),
            asc.BoundsError,
            "^assert_same_move: dst_before must hold 2048 elements, as dst_after",
        ),
        (lambda: assert_same_move(SRC[:256], left(), P), asc.BoundsError, "src must"),
        (
            lambda: assert_same_move(SRC, left(), P, dtype="int8_t"),
            asc.ParamError,
            "src must hold int8_t",
        ),
    ],
)
def test_bad_input_is_an_error_of_its_own(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- dumps, several calls, and what is around a mismatch


def test_a_file_with_the_buffers(tmp_path):
    file = tmp_path / "row7.npz"
    np.savez(file, src=SRC, dst_before=BEFORE, dst_after=left())
    for name in (file, str(file)):
        assert_same_move(name, P, dtype="half")
        assert_same_move(name, params=P, dtype="half")
    with pytest.raises(AssertionError, match="load2d: 512 of 2048 elements differ"):
        assert_same_move(file, asc.LoadData2DParams(0, 3, 1), dtype="half")
    with pytest.raises(asc.ParamError, match="dtype must be given with a file"):
        assert_same_move(file, P)
    with pytest.raises(asc.AscendError, match="must be there, got no such file"):
        assert_same_move(tmp_path / "row8.npz", P, dtype="half")


def test_a_case_says_all_itself(tmp_path):
    np.savez(tmp_path / "a.npz", src=SRC, dst_before=BEFORE, dst_after=left())
    site = {"instruction": "load2d", "product": "910B", "path": "A1->A2"}
    case = {**site, "dtype": "half", "fields": P.to_fields(), "dump": "a.npz"}
    other = {**case, "fields": {"repeatTimes": 3, "srcStride": 3}}
    none = {**case, "src_size": 2048, "dst_size": 2048}
    del none["dump"]
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([case, other, none]))
    right, wrong, none = verify.read_cases(file)
    assert_same_move(right)
    with pytest.raises(AssertionError, match=r"src_stride were 2 \(claimed 3\)"):
        assert_same_move(wrong)
    with pytest.raises(asc.ParamError, match=r"cases\[2\] must have a dump, got none"):
        assert_same_move(none)


@pytest.mark.parametrize(
    "beside",
    [
        {"dst_before": BEFORE},
        {"dst_after": BEFORE},
        *({name: 1} for name in ("params", "dtype", "src_offset", "dst_offset")),
        *({name: "L1->L0A"} for name in ("product", "path", "overlap")),
    ],
    ids=lambda beside: next(iter(beside)),
)
def test_what_a_case_or_file_says_itself_is_not_passed_over(tmp_path, beside):
    """A test that names another buffer than the one that is compared would pass."""
    file, (name,) = tmp_path / "a.npz", beside
    np.savez(file, src=SRC, dst_after=left())
    site = {"instruction": "load2d", "product": "910B", "path": "A1->A2"}
    case = {**site, "dtype": "half", "fields": P.to_fields(), "dump": "a.npz"}
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    (one,) = verify.read_cases(tmp_path / "cases.json")
    assert_same_move(one)
    with pytest.raises(asc.ParamError, match=f"{name} must be left to a case, got one"):
        assert_same_move(one, **beside)
    if name.startswith("dst_") and name != "dst_offset":
        with pytest.raises(asc.ParamError, match=f"{name} must be left to a file"):
            assert_same_move(file, params=P, dtype="half", **beside)


def test_several_calls_in_order():
    calls = [asc.Call(P), asc.Call(P, 256, 1024)]
    after = np.array(asc.load_data(SRC, P, dst=left(), src_offset=256, dst_offset=1024))
    assert_same_move(SRC, after, calls, dst_before=BEFORE)
    assert_same_move(SRC, left(), asc.Call(P), dst_before=BEFORE)
    with pytest.raises(AssertionError, match="exactly if call 1 were left out"):
        assert_same_move(SRC, left(), calls, dst_before=BEFORE)


@pytest.mark.parametrize(
    ("params", "options", "text"),
    [
        ([asc.Call(P)], {"src_offset": 16}, "stand in each call, got offsets beside"),
        ([], {}, r"params must be an instruction's params, or a list of asc.Call"),
        ("load2d", {}, "or a list of asc.Call, got 'load2d'"),
        ([P], {}, "or a list of asc.Call"),
        (None, {}, "or a list of asc.Call, got None"),
    ],
)
def test_what_are_no_calls_is_refused(params, options, text):
    with pytest.raises(asc.ParamError, match=text):
        assert_same_move(SRC, left(), params, **options)


def test_what_is_around_a_mismatch_is_shown():
    after = left()
    after[300] = 1
    with pytest.raises(AssertionError) as failed:
        assert_same_move(SRC, after, P, dst_before=BEFORE, path="A1->A2")
    lines = str(failed.value).splitlines()
    at = lines.index("fractal 1, row 2 (element 288)")
    assert len(lines[at + 1].split()) == len(lines[at + 2].split()) == 17  # C0 and name
    assert lines[at + 2].split()[13] == "3c00"
    assert lines[at + 3].split() == ["^^^^"] and len(lines) < 30
