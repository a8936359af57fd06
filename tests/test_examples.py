"""The documents' figures: all are there, and each shows the document's numbers."""

import dataclasses

import numpy as np
import pytest

import ascjax as asc
from ascjax.examples import LEFT_OUT, Fact, figure, figures

pytestmark = pytest.mark.quick

FIGURES = figures()
NUMBERED = {  # "Figure N" in the documents, and how often "the following figure"
    "Load2D": 1,
    "LoadData2DV2": 6,
    "NZ2ND": 2,
    "NDDMA": 4,
}
USAGE = ["int8_t", "int8_t", "half", "float", "float", "int4b_t", "int4b_t"]
# Fields that a figure's numbers do not depend on, or that have no effect there.
SILENT = {
    ("load2dv2-3", "src_stride"), ("load2dv2-3", "dst_stride"),  # one column
    ("load2dv2-4", "dst_stride"),
    ("ldwt-start", "src_stride"), ("ldwt-start", "dst_gap"),  # a single square
    ("ldwt-half", "dst_frac_gap"), ("ldwt-example-2", "dst_frac_gap"),  # 16 bits
    ("nz2nd-printed", "src_nd_matrix_stride"),  # one matrix
    ("nz2nd-printed", "dst_nd_matrix_stride"),
    ("nddma-smallest", "loop_dst_stride"),  # it looks for the smallest
    ("nddma-smallest", "loop_src_stride"), ("nddma-smallest", "loop_size"),
    ("nddma-smallest", "loop_lp_size"), ("nddma-smallest", "loop_rp_size"),
}  # fmt: skip


def ids(value):
    return value.id


@pytest.mark.parametrize("shown", FIGURES, ids=ids)
def test_a_figure_shows_the_document_s_numbers(shown):
    rows = shown.checked()
    assert [fact.number for fact, _ in rows] == [number for _, number in rows]
    assert len(rows) >= 1


def test_every_figure_of_the_documents_is_there():
    for document, count in NUMBERED.items():
        names = " ".join(f.name for f in FIGURES if f.document == document)
        names += " ".join(name for left, name, _ in LEFT_OUT if left == document)
        for number in range(1, count + 1):
            assert f"Figure {number}" in names, (document, number)
    usage = [f.dtype for f in FIGURES if f.name.startswith("Function Usage")]
    assert usage == USAGE


def test_every_worked_example_of_verify_is_there():
    from ascjax.verify._documents import examples

    held = {tuple(map(repr, f.calls)) for f in FIGURES}
    missing = [e.id for e in examples() if tuple(map(repr, e.calls)) not in held]
    assert missing == []


def test_names_are_unique_and_found():
    names = [f.id for f in FIGURES]
    assert len(set(names)) == len(names)
    assert figure("nddma-4").name == "Figure 4"
    with pytest.raises(asc.ParamError, match=r"id must be one of load2dv2-1, .*'nz'"):
        figure("nz")


def changed(struct):
    """(field, struct with that integer field, or one item of a list, raised by 1)."""
    for field in dataclasses.fields(struct):
        value = getattr(struct, field.name)
        others = []
        if isinstance(value, asc.NdDmaLoopInfo):
            for inner, other in changed(value):
                yield inner, dataclasses.replace(struct, **{field.name: other})
        elif isinstance(value, tuple):
            others = [
                (*value[:k], item + 1, *value[k + 1 :]) for k, item in enumerate(value)
            ]
        elif isinstance(value, int) and field.name not in ("sid", "addr_mode"):
            others = [value + 1]
        for other in others:
            try:
                yield field.name, dataclasses.replace(struct, **{field.name: other})
            except asc.AscendError:  # there is no such value
                continue


def shows(figure):
    """Whether a figure shows its numbers."""
    try:
        figure.checked()
    except (asc.AscendError, IndexError, ValueError):
        return False
    return True


def test_any_other_field_goes_red():
    green = set()
    for shown in FIGURES:
        first, *rest = shown.calls
        for field, params in changed(first.params):
            calls = (dataclasses.replace(first, params=params), *rest)
            for size in (shown.src_size, 4 * shown.src_size):  # with room to read
                if shows(dataclasses.replace(shown, calls=calls, src_size=size)):
                    green.add((shown.id, field))
    assert green == SILENT


def wrong_number(shown):
    fact = dataclasses.replace(shown.facts[0], number=shown.facts[0].number + 1)
    return dataclasses.replace(shown, facts=(fact,))


def wrong_map(shown):
    expected = shown.expected.copy()
    expected[7] += 1
    return dataclasses.replace(shown, expected=expected)


def wrong_refusal(shown):
    return dataclasses.replace(shown, refused="it must be")


@pytest.mark.parametrize(
    "spoil, text",
    [
        (wrong_number, "NZ2ND, Figure 1: ndNum = 2 must show 3 matrices, got 2"),
        (wrong_map, "NZ2ND, Figure 1: the map must hold 8 at element 7, got 7"),
        (wrong_refusal, r"the calls must be refused \(it must be\), got a move"),
    ],
)
def test_a_wrong_figure_goes_red(spoil, text):
    with pytest.raises(asc.ParamError, match=text):
        spoil(figure("nz2nd-1")).checked()


def test_a_fact_is_read_off_the_map():
    fact = Fact("x", "says", 1, "elements", lambda move: int(np.max(move.src_size)))
    assert fact.shown(figure("nddma-4").move) == 24
