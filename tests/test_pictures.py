"""Pictures say what the maps say: every cell, number, arrow and dimension line."""

import dataclasses
import sys
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascjax as asc
from ascjax.instr._figure import Dimension, Tiles
from ascjax.pictures._colours import Scale
from ascjax.pictures._dimensions import placed
from ascjax.pictures._grid import BLANK, CELLS, Grid
from ascjax.pictures._names import order_of
from ascjax.pictures._paint import _rectangles
from ascjax.pictures._sheet import OTHER, UNREAD, Panel
from ascjax.pictures._text import text_of
from ascjax.show import show_command
from ascjax.verify._samples import BUILDERS, sample
from ascjax.verify._suite import combinations

FILL, KEEP = asc.FILL, asc.KEEP


def move_of(params, dtype="half", src_size=None, **options):
    size = 4096 if src_size is None else src_size
    return asc.Move.of(params, dtype=dtype, src_size=size, **options)


LOAD = move_of(asc.LoadData2DParams(1, 3, 2, 0, 1), src_size=2048)
HALVES = np.zeros(2048, "float16")
TURNED = move_of(asc.LoadData2DParams(0, 2, 1, if_transpose=True), src_size=512)
WINDOW = move_of(
    asc.LoadData2DParamsV2(2, 2, 2, 3, 5, 3), src_size=7680, product="atlas_350"
)
ROAD = asc.nn.Pipeline(
    [
        (asc.LoadData2DParams(0, 4, 2), "GM->A1"),
        (asc.LoadData2DParams(0, 4, 1, if_transpose=True), "A1->A2"),
    ],
    product="910B",
    dtype="half",
)


def fields_of(panel):
    return {
        line.field: (line.value, line.first, line.last) for line in panel.dimensions
    }


def samples():
    """One legal move of each instruction, small enough to draw cell by cell."""
    rng = np.random.default_rng(7)
    draw = lambda low, high: int(rng.integers(low, high + 1))  # noqa: E731
    for name in BUILDERS:
        site = next(s for i, s in combinations() if i == name)
        moves = (sample(name, site, draw).move(site) for _ in range(50))
        yield min(moves, key=lambda m: abs(m.dst_size - 2000))


@pytest.mark.parametrize(
    "move", [*samples()], ids=lambda m: m.calls[0].params.instruction
)
def test_a_picture_of_every_instruction_holds_its_map(move):
    picture = asc.draw(move)
    source, destination = picture.sheet.panels
    index = move.index_map.index
    np.testing.assert_array_equal(destination.codes, index)
    read = np.zeros(move.src_size, bool)
    read[index[index >= 0]] = True
    np.testing.assert_array_equal(
        source.codes, np.where(read, np.arange(read.size), UNREAD)
    )
    ElementTree.fromstring(picture.svg())
    assert picture.png().startswith(b"\x89PNG")
    for panel in picture.sheet.panels:
        for line in panel.dimensions:  # a count may be of one element
            counts = line.edges == ("start", "end")
            assert line.value and (counts or line.first != line.last)


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.integers(1, 300),
)
def test_each_element_has_a_cell_of_its_own(row, rows, run, down, turned, size):
    tiles = Tiles(row, rows, run, down, turned)
    canvas = Grid(Panel("x", tiles, np.arange(size))).canvas
    np.testing.assert_array_equal(np.sort(canvas[canvas != BLANK]), np.arange(size))
    grid = Grid(Panel("x", tiles, np.arange(size)))
    for element in {0, size // 2, size - 1}:
        column, line = grid.corner(element)
        assert canvas[int(line), int(column)] == element


@given(st.integers(0, 2**30 - 1))
def test_hatching_covers_what_is_set_and_nothing_else(bits):
    mask = np.array([bits >> k & 1 for k in range(30)], bool).reshape(5, 6)
    covered = np.zeros(mask.shape, int)
    for left, top, right, bottom in _rectangles(mask):
        covered[top:bottom, left:right] += 1
    np.testing.assert_array_equal(covered, mask)


def test_fractals_are_numbered_by_their_source():
    assert str(asc.draw(WINDOW)).split("\n") == [
        "load2dv2 · half · atlas_350",
        "  mStartPosition = 2, kStartPosition = 2, mStep = 2, kStep = 3, srcStride = 5,"
        " dstStride = 3",
        "source",
        "     0 -    5 -    10 -   15 -   20 -   25 -",
        "     1 -    6 -    11 -   16 -   21 -   26 -",
        "     2 -    7 -    12 Z   17 Z   22 Z   27 -",
        "     3 -    8 -    13 Z   18 Z   23 Z   28 -",
        "     4 -    9 -    14 -   19 -   24 -   29 -",
        "destination",
        "     0←12 Z   3←17 Z   6←22 Z",
        "     1←13 Z   4←18 Z   7←23 Z",
        "     2 .      5 .",
        "  - not read, . not written",
    ]


def test_a_transpose_within_fractals_is_an_n():
    assert "0←0 N   1←1 N" in str(asc.draw(TURNED))
    z = np.arange(12).reshape(3, 4)
    assert (order_of(z), order_of(z.T), order_of(z[:, ::-1])) == ("Z", "N", "")


def test_dimension_lines_are_the_fields_where_they_have_a_length():
    source, destination = asc.draw(WINDOW).sheet.panels
    assert fields_of(source) == {
        "mStartPosition": (2, 0, 512),
        "kStartPosition": (2, 0, 2560),
        "mStep": (2, 3072, 3568),
        "kStep": (3, 3072, 5647),
        "srcStride": (5, 3072, 4352),
    }
    assert fields_of(destination) == {"dstStride": (3, 0, 768)}
    source, destination = asc.draw(LOAD).sheet.panels
    assert fields_of(source) == {"startIndex": (1, 0, 256), "srcStride": (2, 256, 768)}
    assert fields_of(destination) == {"dstGap": (1, 255, 512)}


def test_dimension_lines_start_where_the_operands_do():
    move = move_of(LOAD.calls[0].params, src_offset=512, dst_offset=256)
    source, destination = asc.draw(move).sheet.panels
    assert fields_of(source)["srcStride"] == (2, 768, 1280)
    assert fields_of(destination)["dstGap"] == (1, 511, 768)


def test_dimension_lines_never_lie_on_each_other():
    for move in (WINDOW, LOAD):
        for panel in asc.draw(move).sheet.panels:
            items = placed(Grid(panel), (4.5, 4.5))
            for k, one in enumerate(items):
                for other in items[:k]:
                    if (one.way, one.level) == (other.way, other.level):
                        ends = sorted([one.span, other.span])
                        assert ends[0][1] <= ends[1][0]


def test_a_dimension_line_beyond_the_buffer_is_left_out():
    lines = (Dimension.stride("src", "srcStride", 9, 0, 9 * 256),)
    panel = Panel("x", Tiles(16), np.arange(512), lines)
    assert placed(Grid(panel), (1, 1)) == ()


def test_a_dimension_line_around_the_end_of_a_line_is_left_out():
    gap = asc.LoadData2DParams(0, 2, 1, dst_gap=15)
    _, panel = asc.draw(move_of(gap, src_size=512)).sheet.panels
    assert Grid(panel).wrapped and fields_of(panel) == {"dstGap": (15, 255, 4096)}
    assert placed(Grid(panel), (4, 4)) == ()
    near = asc.draw(move_of(LOAD.calls[0].params)).sheet.panels[1]
    assert [item.line.field for item in placed(Grid(near), (4, 4))] == ["dstGap"]


def test_columns_of_whole_fractals_are_numbered_as_fractals():
    params = asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1)
    text = str(asc.draw(move_of(params, src_size=1024)))
    assert "     0 Z   2 Z\n     1 Z   3 Z\n" in text
    assert Tiles.columns(16, 4) == Tiles(16, 4)


def test_a_move_of_nothing_says_so():
    text = str(asc.draw(move_of(asc.LoadData2DParams(0, 0, 2), src_size=256)))
    assert "nothing moves: a count is zero (NOP)" in text


def test_only_a_difference_has_differs_in_its_legend():
    turned = move_of(asc.LoadData2DParams(0, 2, 1), src_size=512)
    assert ">differs<" in asc.draw_difference(turned, TURNED).svg()
    assert ">differs<" not in asc.draw_difference(turned, turned).svg()


def test_colours_tell_fractals_apart_and_lighten_towards_their_end():
    scale = Scale.of(asc.draw(LOAD).sheet)
    first, last, other = scale.rgba(np.array([256, 511, 768]))[:, :3]
    assert (last > first).all() and (first != other).any()


def test_a_large_buffer_has_a_cell_for_each_fractal():
    params = asc.LoadData2DParamsV2(0, 0, 32, 32, 32, 32)
    move = move_of(params, src_size=256 * 1024)
    grid = Grid(asc.draw(move).sheet.panels[1])
    assert grid.summary and grid.canvas.shape == (32, 32)
    np.testing.assert_array_equal(grid.canvas.T.reshape(-1), np.arange(1024) * 256)
    rows = Grid(Panel("x", Tiles.lines(1000), np.arange(CELLS * 4)))
    assert max(rows.canvas.shape) <= 192 and rows.canvas[0, 0] == 0


def test_layouts_show_the_array_and_the_buffer():
    for name in ("NZ", "ZN", "ZZ", "NN"):
        layout = asc.Layout(name, (20, 40), "half")
        array, buffer = asc.draw(layout).sheet.panels
        canvas = Grid(array).canvas
        high, wide = Grid(array).tile
        for r, c in ((0, 0), (19, 39), (17, 2)):
            at = layout.address(r, c)
            assert canvas[r + r // high, c + c // wide] == at == buffer.codes[at]
        assert (buffer.codes == FILL).sum() == layout.size - 800
    table = asc.draw(asc.Layout("DN", (2, 3), "half"))
    assert text_of(table.sheet).split("\n")[4:6] == ["    0 2 4", "    1 3 5"]


def test_a_pipeline_is_a_row_of_buffers_coloured_by_the_first():
    sheet = asc.draw(ROAD).sheet
    assert [panel.title for panel in sheet.panels] == [
        "source GM",
        "L1",
        "destination L0A",
    ]
    np.testing.assert_array_equal(
        sheet.panels[2].codes, ROAD.joined.index_map.index.reshape(-1)
    )
    assert sheet.steps == ("load2d", "load2d")


def test_what_a_later_move_reads_unwritten_is_padding():
    gap = asc.LoadData2DParams(0, 2, 1, dst_gap=1)
    road = asc.nn.Pipeline(
        [(gap, "GM->A1"), (asc.LoadData2DParams(0, 3, 1), "A1->A2")],
        product="910B",
        dtype="half",
    )
    codes = asc.draw(road).sheet.panels[2].codes
    assert (codes[256:512] == FILL).all() and (codes[:256] >= 0).all()


def test_maps_plans_and_chains_are_drawn_as_their_moves():
    index = WINDOW.index_map.index
    for what in (WINDOW.index_map, WINDOW.plan, asc.chain([WINDOW])):
        np.testing.assert_array_equal(asc.draw(what).sheet.panels[1].codes, index)
    assert "0←12 Z" in str(asc.draw(WINDOW.plan, c0=16))
    info = asc.NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
    padded = move_of(asc.NdDmaParams(info, 7.0), "float", 16)
    codes = asc.draw(padded.plan).sheet.panels[1].codes
    np.testing.assert_array_equal(codes, padded.index_map.index)


def test_modules_are_drawn_as_their_moves():
    module = asc.nn.LoadData(LOAD.calls[0].params, dtype="half", src_size=2048)
    assert str(asc.draw(module)) == str(asc.draw(LOAD))


def test_a_difference_of_arrays_tells_where_wrong_elements_are_from():
    src = np.arange(2048, dtype="float16")
    good = np.asarray(jax.device_get(asc.run_move(LOAD, src)))
    bad = good.copy()
    bad[:16] = src[512:528]
    bad[16] = -1
    expected, got = asc.draw_difference(LOAD, bad, src=src).sheet.panels
    np.testing.assert_array_equal(got.codes[:16], np.arange(512, 528))
    assert got.codes[16] == OTHER and got.marks.sum() == 17
    np.testing.assert_array_equal(expected.codes, LOAD.index_map.index)
    right = asc.draw_difference(LOAD, good, src=src).sheet
    assert not right.panels[1].marks.any() and "0 of 1280" in right.title


def test_a_difference_of_a_large_buffer_is_shown_where_it_is():
    size = 256 * 1024
    params = asc.LoadData2DParamsV2(0, 0, 32, 32, 32, 32)
    move = move_of(params, "float", size // 2)
    src = np.arange(size // 2, dtype="float32")
    bad = src.copy()
    bad[100_000] = -5
    sheet = asc.draw_difference(move, bad, src=src).sheet
    panel = sheet.panels[1]
    assert panel.start <= 100_000 < panel.start + len(panel.codes) < size // 2
    assert panel.marks[100_000 - panel.start] and panel.marks.sum() == 1
    asc.draw_difference(move, bad, src=src).svg()


def test_pictures_are_the_same_every_time(tmp_path):
    for name in ("one.svg", "two.svg", "one.png", "two.png"):
        asc.draw(LOAD).save(tmp_path / name)
    for form in ("svg", "png"):
        one, two = (tmp_path / f"{name}.{form}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_notebooks_show_moves_maps_layouts_roads_and_plans():
    module = asc.nn.LoadData(LOAD.calls[0].params, dtype="half", src_size=2048)
    layout = asc.Layout("NZ", (20, 20), "half")
    for what in (LOAD, LOAD.index_map, LOAD.plan, layout, ROAD, ROAD.joined, module):
        assert "<svg" in what._repr_html_(), what


def test_a_notebook_shows_text_where_a_picture_is_too_large():
    huge = asc.Layout("NZ", (2**14, 2**14), "half")
    assert huge._repr_html_().startswith("<pre>Layout(&#x27;NZ&#x27;")


def test_without_matplotlib_a_picture_is_refused_and_a_notebook_shows_text(monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(asc.SupportError, match=r"pip install 'ascjax\[draw\]'"):
        asc.draw(LOAD).svg()
    assert LOAD._repr_html_().startswith("<pre>Move(")
    assert "0←1 Z" in str(asc.draw(LOAD))  # text needs none


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda: asc.draw(asc.LoadData2DParams()), "what must be a Move, an IndexMap"),
        (lambda: asc.draw(LOAD.index_map, c0=0), "c0 must be at least 1"),
        (
            lambda: asc.draw(LOAD).save("x.gif"),
            r"must end in \.svg or \.png, got x\.gif",
        ),
        (
            lambda: asc.draw_difference(LOAD, np.zeros(3, "float16")),
            "src must be given",
        ),
        (
            lambda: asc.draw_difference(
                LOAD, np.zeros(3, "float16"), src=np.zeros(2048, "float16")
            ),
            "got must hold 1280 elements",
        ),
        (lambda: asc.draw_difference(LOAD, TURNED), "as many destination elements"),
        (lambda: asc.draw_difference(LOAD), "a move and an array, two moves"),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong, text):
    with pytest.raises(asc.AscendError, match=text):
        wrong()


def test_show_writes_a_picture(tmp_path):
    from io import StringIO

    from rich.console import Console

    out, file = StringIO(), tmp_path / "x.png"
    words = ["--repeat-times", "2", "--png", str(file)]
    show_command(Console(file=out, width=100), "load2d", words)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "picture\nsource\n     0 Z" in out.getvalue()
    assert f"picture written to {file}" in out.getvalue().replace("\n", "")
    with pytest.raises(asc.ParamError, match="must end in"):
        show_command(Console(file=out), "load2d", [*words[:-1], "x.jpg"])


def test_frames_at_an_edge_are_whole():
    frames = [
        patch
        for axes in asc.draw(LOAD).figure.axes
        for patch in axes.patches
        if not patch.get_fill() and not patch.get_hatch() and patch.get_linewidth()
    ]
    tiles = LOAD.src_size // 256 + LOAD.dst_size // 256
    outlines = [f for f in frames if type(f).__name__ == "Rectangle"]
    assert len(outlines) >= tiles and not any(f.get_clip_on() for f in outlines)


def test_a_text_explains_only_the_marks_that_it_has():
    text = str(asc.draw(asc.Layout("NZ", (32, 64), "float")))
    assert "…" in text and "not written" not in text
    rows = move_of(asc.DataCopyParams(1, 1, 0, 0), src_size=64)
    assert "… 2 rows without" in str(asc.draw(rows))
    rows = move_of(asc.DataCopyParams(1, 1, 0, 0), src_size=48)
    assert "… 1 row without" in str(asc.draw(rows))


def check_lengths(nest, lines, fractal):
    """Each line is as long as what the nest does with its field."""
    read = [
        abs(sum(coord.stride * coord.terms[k] for coord in nest.coords))
        for k in range(len(nest.loops))
    ]
    steps = {"src": {*read}, "dst": {loop.dst_stride for loop in nest.loops}}
    starts = [x.last - x.first for x in lines if "start" in x.field.lower()]
    assert sum(starts) == (nest.src_start if starts else 0)
    for line in lines:
        length = abs(line.last - line.first)
        if line.edges == ("start", "start") and "start" not in line.field.lower():
            assert length in steps[line.side], line
        if line.edges == ("end", "start"):
            assert length - 1 + fractal in steps[line.side], line


@pytest.mark.parametrize("name", [n for n in BUILDERS if n != "load3dv2"])
def test_a_dimension_line_is_as_long_as_the_move_s_step(name):
    rng = np.random.default_rng(11)
    draw = lambda low, high: int(rng.integers(low, high + 1))  # noqa: E731
    sites = [site for instruction, site in combinations() if instruction == name]
    checked = 0
    for k in range(24):
        site = sites[k % len(sites)]
        params = sample(name, site, draw).params
        nest = params.nest(site)
        if isinstance(nest, asc.LoopNest) and nest.volume:
            figure = params.figure(site)
            check_lengths(nest, figure.dimensions, site.type.fractal)
            checked += len(figure.dimensions)
    assert checked


def test_a_line_of_another_length_goes_red():
    params = LOAD.calls[0].params
    site = params.site(None, None, "half")
    lines = params.figure(site).dimensions
    check_lengths(params.nest(site), lines, 256)
    for k, line in enumerate(lines):
        wrong = dataclasses.replace(line, last=line.last + 256)
        with pytest.raises(AssertionError):
            check_lengths(params.nest(site), (*lines[:k], wrong, *lines[k + 1 :]), 256)


@pytest.mark.parametrize("name", ["none/x.png", "folder.svg"])
def test_a_file_that_cannot_be_written_is_told(name, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(asc.ParamError, match=r"folder that can be written, got .*\("):
        asc.draw(LOAD).save(tmp_path / name)


@pytest.mark.parametrize("dtype", ["int8_t", "half", "float"])
@pytest.mark.parametrize("block_len", [4, 32, 40, 64])
@pytest.mark.parametrize("pads", [None, (0, 0), (2, 1)])
def test_gaps_of_padded_copies_are_as_long_as_their_fields(dtype, block_len, pads):
    size = asc.ascend_type(dtype).bits // 8
    params = asc.DataCopyExtParams(3, block_len, 8, 2)
    units = {"srcStride": 1, "dstStride": 32}  # bytes, of GM and of UB
    path = "GM->VECIN"
    if pads is None:
        params = asc.DataCopyExtParams(3, block_len, 2, 8)
        units, path = {"srcStride": 32, "dstStride": 1}, "VECOUT->GM"
    else:
        pad = asc.DataCopyPadExtParams(True, *pads, 0)
        params = dataclasses.replace(params, pad_params=pad)
    move = asc.Move.of(params, src_size=400, product="atlas_a2", path=path, dtype=dtype)
    found = {}
    for panel in asc.draw(move).sheet.panels:
        found |= {d.field: (d.last - d.first + 1, d.value) for d in panel.dimensions}
    for field, unit in units.items():
        long, value = found[field]
        assert long * size == value * unit, field
