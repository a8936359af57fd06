"""`ascjax list` and `ascjax show`: what they print, and what they refuse."""

import io
import re

import numpy as np
import pytest
from cases import CASES
from rich.console import Console

import ascjax as asc
from ascjax.instr import REGISTRY, Params, integer
from ascjax.show import list_command, show_command
from ascjax.show._map import ROWS as MOST
from ascjax.show._words import OPTIONS
from ascjax.verify import Case, Step, check_case
from ascjax.verify._coverage import coverage
from ascjax.verify._names import matching
from ascjax.verify._why import origin, reader, writer


def shown(*words):
    out = io.StringIO()
    show_command(Console(file=out, width=120), words[0], words[1:])
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
        (
            ["nddma", "--loop-size", "1,2"],
            "--loop-src-stride, --loop-dst-stride must be given, got only --loop-size",
        ),
        (
            [
                "load2d",
                "--repeat-times",
                "3",
                "--src-stride",
                "2",
                "--addr-mode",
                "1",
                "--start-index",
                "1",
                "--src-offset",
                "256",
            ],
            "src must be read from its element 0 on, got a read of element -512",
        ),
        (
            ["load2dv2", "--m-step", "1", "--k-step", "2", "--src-stride", "-3"],
            "src must be read from its element 0 on, got a read of element -768",
        ),
        (
            ["load2d", "--repeat-times", "1", "--why", "0.16.0"],
            r"row < 16 and column <",
        ),
        (
            ["load2d", "--repeat-times", "1", "--why", "1.0.0"],
            r"in \[0, 256\), or frac",
        ),
        ([*ROWS, "--why", "0.1.2"], r"be a destination element, in \[0, 36\), got"),
        (
            ["load2d", "--repeat-times", "1", "--from", "1.0"],
            r"fractal.row, up to 0.15",
        ),
        ([*ROWS, "--from", "40"], r"the first row to print, an element in \[0, 36\)"),
        ([*ROWS, "--rows", "0"], "--rows must be at least 1"),
        (["LoadDataWithTranspose"], r"which is ldwt_v1 \(.*\) and ldwt_v2 \("),
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


@pytest.mark.parametrize(
    "name", ["load2d", "Load2D", "LoadData2DParams", "loaddata2dparams"]
)
def test_an_instruction_is_found_by_its_other_names(name):
    assert shown(name, "--repeat-times", "1").startswith("load2d on half")


def test_every_struct_and_every_document_of_one_instruction_is_known():
    for name, cls in REGISTRY.items():
        assert matching(cls.__name__) == matching(name.upper()) == [name]
    assert matching("NDDMA") == ["nddma"]
    assert matching("LoadDataWithTranspose") == ["ldwt_v1", "ldwt_v2"]
    assert matching("Load3D") == []


def test_without_fields_they_are_listed_with_ranges_and_units():
    text = shown("nz2nd")
    assert re.search(r"--n-value +\[1, 8192\] +rows", text)
    assert "also 0 where --nd-num" in text and "formula" not in text
    assert re.search(r"--sid +an integer +ignored", shown("load2d"))
    text = shown("load2d", "--dtype", "half")
    assert "--repeat-times  [0, 255]" in text and "nothing moves" in text
    assert re.search(r"--loop-size +\[0, 1048575\] each, as 1,8 +elem", shown("nddma"))


def test_every_option_works_and_is_in_the_help():
    text = shown(None)
    for option in OPTIONS:
        assert f"{option.dashed} {option.metavar} " in text
    assert "40" in next(o.help for o in OPTIONS if o.name == "rows") and MOST == 40


def test_a_type_that_is_not_given_is_said_to_be_half():
    assert "on half (dtype not given: half)" in shown(*ROWS)
    assert "not given" not in shown(*ROWS, "--dtype", "half")


def test_a_cell_may_be_given_by_fractal_row_and_column():
    words = ["load2d", "--repeat-times", "2", "--src-stride", "1"]
    assert shown(*words, "--why", "1.2.12") == shown(*words, "--why", "300")


def test_rows_and_from_choose_the_part_of_the_map():
    words = ["load2d", "--repeat-times", "9", "--src-stride", "1"]
    text = shown(*words, "--rows", "3", "--from", "2.15")
    assert list(map_of(text)) == ["2.15", "3.0", "3.1"]
    assert "… 94 more: --from 3.2, or --rows N" in text
    assert list(map_of(shown(*words, "--from", "8"))) == [f"8.{k}" for k in range(16)]
    assert len(map_of(shown(*words, "--rows", "200"))) == 144
    assert list(map_of(shown(*ROWS, "--from", "21"))) == ["20"]


def test_a_class_without_a_nest_is_said_in_one_line():
    class Bare(Params):
        instruction, op, source = "bare", "load_data", "nowhere"
        support = {"atlas_a2": {"A1->A2": "half"}}
        count: int = integer(0, 9, "elements")

    try:
        with pytest.raises(asc.SupportError, match="bare: nest must be a method of Ba"):
            shown("bare", "--count", "1")
        step = Step("bare", {"count": 1})
        case = Case("x", "", (step,), None, None, "half", 9, 9)
        result = check_case(case)
    finally:
        del REGISTRY["bare"]
    assert result.status == "error" and "nest must be a method" in result.message


def test_a_field_may_have_an_option_s_name():
    class Wide(Params):
        instruction, op, source = "wide", "data_copy", "nowhere"
        support = {"atlas_a2": {"GM->VECIN": "half"}}
        rows: int = integer(0, 9, "rows")

        def nest(self, site):
            return asc.LoopNest.strided(0, 0, ("r", self.rows, 1, 1))

    try:
        assert "dst 7 elements" in shown("wide", "--rows", "7")
    finally:
        del REGISTRY["wide"]


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


def test_a_plan_says_why():
    console = Console(record=True, width=100)
    show_command(console, "load2d", ["--repeat-times", "2", "--src-stride", "3"])
    text = console.export_text()
    assert "plan: runs of 256 elements: gathered in the destination's order" in text
