"""`ascjax list` and `ascjax show`: what they print, and what they refuse."""

import io

import numpy as np
import pytest
from cases import CASES
from rich.console import Console

import ascjax as asc
from ascjax.instr import REGISTRY, Params
from ascjax.show import list_command, show_command
from ascjax.verify._coverage import coverage
from ascjax.verify._why import origin, reader, writer


def shown(*words):
    out = io.StringIO()
    show_command(Console(file=out, width=100), words[0], words[1:])
    return out.getvalue()


def map_of(text):
    """The rows of a printed map, as label -> cells."""
    lines = text[text.index("\nmap") :].splitlines()
    rows = [line.split("|") for line in lines if " | " in line][1:]
    return {label.strip(): cells.split() for label, cells in rows}


# The document's example: 2 rows of 8, with 3 + 5 columns and 1 + 1 rows of padding.
_PADDING = """nddma --loop-src-stride 1,8 --loop-dst-stride 1,16 --loop-size 8,2
    --loop-lp-size 3,1 --loop-rp-size 5,1 --dtype float"""
_ROWS = "nz2nd --nd-num 1 --n-value 2 --d-value 16 --dst-d-stride 20"
PADDING, ROWS = _PADDING.split(), _ROWS.split()


def test_the_documents_padding_example_as_a_grid():
    pads, kept = ["#"] * 16, ["#"] * 5
    rows = map_of(shown(*PADDING))
    assert rows["0"] == rows["48"] == pads
    assert rows["16"] == ["#"] * 3 + [str(k) for k in range(8)] + kept
    assert rows["32"] == ["#"] * 3 + [str(k) for k in range(8, 16)] + kept


def test_a_gap_is_counted_and_fractals_have_rows():
    text = shown("load2d", "--repeat-times", "2", "--srcStride=3", "--dst-gap", "1")
    assert "src 1024 elements, dst 768 elements" in text
    assert "dst[512*i + 16*r + c] = src[768*i + 16*r + c]" in text
    assert "… 16 rows kept" in text
    rows = map_of(text)
    assert rows["0.0"] == [str(k) for k in range(16)]
    assert rows["2.15"] == [str(k) for k in range(1008, 1024)]


def test_the_nest_and_the_plan_are_printed():
    text = shown("load2d", "--repeat-times", "2", "--if-transpose")
    move = asc.Move.of(
        asc.LoadData2DParams(0, 2, if_transpose=True), dtype="half", src_size=256
    )
    for line in (*str(move.plan).splitlines(), "loop  count  dst step  src step"):
        assert line in text


def test_a_long_map_says_how_much_is_left_out():
    text = shown("load2d", "--repeat-times", "9", "--src-stride", "1")
    assert len(map_of(text)) == 40
    assert f"… {9 * 16 - 40} more" in text


def test_a_nop_shows_that_nothing_moves():
    text = shown("load2d", "--dst-size", "32")
    assert "nothing moves: a count is zero (NOP)" in text
    assert "… 2 rows kept" in text


def test_width_sets_the_columns():
    assert map_of(shown(*ROWS, "--dtype", "int8_t")) == {
        "0": [str(k) for k in range(16)] + ["."] * 4,
        "20": [str(k) for k in range(16, 32)],
    }
    assert list(map_of(shown(*ROWS, "--width", "8"))) == ["0", "8", "16", "24", "32"]


def test_product_path_and_offsets_are_checked_and_used():
    words = ["load2d", "--repeat-times", "1", "--product", "910B", "--path", "L1->L0A"]
    assert "load2d on half, A1->A2, atlas_a2" in shown(*words)
    text = shown(*words, "--src-offset", "16", "--dst-offset", "256", "--why", "256")
    assert "src 272 elements, dst 512 elements" in text
    assert "from source element 16 (fractal 0, row 1, column 0)" in text
    with pytest.raises(asc.AlignmentError, match="dst_offset must start on"):
        shown(*words, "--dst-offset", "16")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["load2d", "--repeat-times=2", "--dst-gap=1", "--why", "300"],
            ["element 300 (fractal 1, row 2, column 12)", "is kept: no iteration"],
        ),
        (
            ["ldwt_v1", "--repeat-times", "1", "--dtype", "float", "--why", "70"],
            [
                "element 70 (fractal 0, row 8, column 6)",
                "i = 0, h = 0, f = 1, r = 0, c = 6",
                "from source element 176 (fractal 1, row 6, column 0)",
            ],
        ),
        (
            [*PADDING, "--constant-value", "1.5", "--why", "18"],
            ["x1 = 1, x0 = 2", "as padding, bits 0x3fc00000 (x0: -1 is not in [0, 8))"],
        ),
        (
            [*PADDING, "--isNearestValueMode", "--why", "18"],
            ["x1 = 1, x0 = 2", "from source element 0"],
        ),
        (
            [*PADDING, "--config-loop-lp-size", "0", "--why", "0"],
            ["from source element 0"],
        ),
    ],
    ids=["kept", "copied", "padding", "nearest", "config"],
)
def test_why_tells_the_story_of_one_element(words, expected):
    text = shown(*words)
    for part in expected:
        assert part in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["load3d"], "instruction must be one that ascjax has"),
        (["load2d", "--repeat", "2"], r"Did you mean --repeatTimes\?"),
        (["load2d", "repeat_times", "2"], "got 'repeat_times'"),
        (["load2d", "--dst-gap"], "--dst-gap must be followed by its value"),
        (["load2d", "--dst-gap", "--sid"], "--dst-gap must be followed by its value"),
        (["load2d", "--dst-gap", "1.5"], "--dst-gap must be an integer, got '1.5'"),
        (["load2d", "--repeat-times", "256"], r"repeat_times must be in \[0, 255\]"),
        (["load2d", "--if-transpose", "maybe"], "--if-transpose must be true or false"),
        (["nddma", "--loop-size", "1;2"], "integers with commas"),
        (["nddma", "--loop-size", "1,2"], "missing .*loopDstStride"),
        ([*PADDING, "--constant-value", "x"], "--constant-value must be a number"),
        (
            [*PADDING, "--why", "64"],
            r"--why must be a destination element, in \[0, 64\)",
        ),
        ([*PADDING, "--width", "0"], "--width must be at least 1"),
        (["load2d", "--dtype", "half8"], "dtype must name an Ascend C type"),
        (["load2d", "--product", "atlas_9"], "product must be one of"),
        (
            ["load2d", "--repeat-times", "1", "--src-size", "9"],
            "src must hold elements",
        ),
    ],
)
def test_bad_input_is_refused_in_words(words, text):
    with pytest.raises(asc.AscendError, match=text):
        shown(*words)


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if len(c.calls) == 1])
def test_origin_is_the_index_map(name):
    move = CASES[name].move
    cells = np.linspace(0, move.dst_size - 1, 60).astype(int)
    found = [origin(move.nests[0], cell).source for cell in cells.tolist()]
    assert found == move.index_map.index[cells].tolist()


def test_origin_takes_the_last_of_several_writes():
    nest = asc.LoopNest.strided(
        0, 0, ("i", 3, 10, 1), ("r", 4, 100, 0), ("j", 2, 1, -1)
    )
    assert nest.dst_range() == (-1, 2)
    assert origin(nest.shift(0, 1), 1).loops == {"i": 1, "r": 3, "j": 1}


def test_reader_and_writer_name_the_iteration():
    rows = asc.LoopNest.strided(4, 0, ("r", 3, 10, 2), ("c", 2, 1, 1))
    assert reader(rows, 15) == {"r": 1, "c": 1}
    assert reader(rows, 3) == {}
    call, found = writer((rows, rows.shift(0, 4)), 4)
    assert (call, found.loops) == (1, {"r": 0, "c": 0})
    assert writer((rows,), 9)[1].loops == {}


def test_a_stranger_s_lists_are_shown_and_counted():
    class Pick(Params):
        instruction = "pick"
        op = "data_copy"
        source = "nowhere"
        support = {"atlas_a2": {"GM->VECIN": "half"}}
        counts: tuple[int, ...] = (1,)

        def nest(self, site):
            loops = ((f"x{k}", n, 4**k, 1) for k, n in enumerate(self.counts))
            return asc.LoopNest.strided(0, 0, *loops)

    try:
        assert "src 4 elements, dst 4 elements" in shown("pick", "--counts", "4")
        found = coverage([("pick", {"counts": [4, 1]}, "half"), ("pick", {}, "half")])
    finally:
        del REGISTRY["pick"]
    counts = {"range": None, "zero": 0, "min": 0, "max": 0, "odd": 2}
    assert found["pick"]["fields"]["counts"] == counts


def test_list_names_everything():
    out = io.StringIO()
    list_command(Console(file=out, width=200))
    text = out.getvalue()
    for word in (
        *("load2d", "load2dv2", "ldwt_v1", "ldwt_v2", "nz2nd", "nddma"),
        *asc.PRODUCTS,
        *("VECOUT->GM, CO2->GM", "hifloat8_t", "Ascend 950PR", "Nz2NdParamsFull"),
    ):
        assert word in text
