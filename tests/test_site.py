"""The docs site: generated pages say what the package declares, in both languages."""

import doctest
import importlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import ascjax as asc
from ascjax.examples import figures
from ascjax.instr import REGISTRY

DOCS = Path(__file__).parents[1] / "docs"
if not (DOCS / "_site").exists():
    pytest.skip("docs are not part of this copy", allow_module_level=True)


@pytest.fixture(scope="module")
def site():
    """The modules that make the pages."""
    sys.path.insert(0, str(DOCS / "_site"))
    yield lambda name: importlib.import_module(name)
    sys.path.remove(str(DOCS / "_site"))


def check_page(text, cls):
    for name, field in cls.c_fields().items():
        row = next(line for line in text.splitlines() if f"| `{name}` |" in line)
        if field.kind == "integer" and field.low is not None:
            assert f"[{field.low}, {field.high}]" in row
        if field.unit != "ignored":
            assert field.unit in row
    for key in asc.PRODUCTS:
        for path, types in cls.paths(asc.product(key)).items():
            rows = [line for line in text.splitlines() if line.startswith(f"| {key} ")]
            assert any(path in row and types[0] in row for row in rows)


def test_each_instruction_has_a_page_with_all_that_it_declares(site):
    instruction = site("instruction")
    for name, cls in instruction.EVERY.items():
        text = instruction.page_of(name, "en", "x.svg")
        check_page(text, cls)
        assert cls.__name__ in text and (name == "mmad" or "x.svg" in text)
        assert f"[{name}]({name}.md)" in instruction.index_of("en")
        for block in re.findall(r"```python\n(.*?)```", text, re.S):
            made = {}
            exec(block, made)
            assert made["params"] == instruction.form_of(name).start.params


def test_a_page_without_a_field_goes_red(site):
    text = site("instruction").page_of("load2d", "en", "x.svg")
    for wrong in (text.replace("65535", "65536"), text.replace("fractals of", "bytes")):
        with pytest.raises(AssertionError):
            check_page(wrong, REGISTRY["load2d"])


def test_every_instruction_is_in_the_navigation():
    nav = (DOCS.parent / "mkdocs.yml").read_text()
    for name in REGISTRY:
        assert f"instructions/{name}.md" in nav


def test_chinese_pages_have_the_same_rows_and_chinese_units(site):
    instruction, words = site("instruction"), site("words")
    assert words.WORDS["en"].keys() == words.WORDS["zh"].keys()
    assert words.SUMMARIES_ZH.keys() == instruction.EVERY.keys()
    for name, cls in instruction.EVERY.items():
        english, chinese = (
            instruction.page_of(name, language, "x.svg") for language in ("en", "zh")
        )
        assert english.count("\n|") == chinese.count("\n|")
        for field in cls.c_fields().values():
            told = words.unit(field.unit, "zh")
            left = re.findall(r"[a-z]{2,}", told)
            assert left == [], (name, field.unit, told)


def test_the_figures_page_shows_every_number_beside_its_picture(site):
    text = site("figures").page()
    for figure in figures():
        assert f"pictures/{figure.id}.svg" in text
        for fact, shown in figure.checked():
            assert f"| `{fact.field}` | " in text and f"| {shown} |" in text


def test_errata_lead_to_the_pages_of_their_instructions(site):
    instruction = site("instruction")
    assert any(line.startswith("E6.") for line in instruction.errata_of("nz2nd"))
    assert any(line.startswith("Q1.") for line in instruction.errata_of("load2d"))
    assert not any("Load2DV2:" in line for line in instruction.errata_of("nddma"))


def test_links_that_leave_the_docs_are_named(site):
    hooks = site("hooks")
    page = type("P", (), {"file": type("F", (), {"src_uri": "scale.md"})})
    text = "[b](../benchmarks/README.md) and [n](../notebooks/x.ipynb), [c](cost.md)"
    assert hooks.on_page_markdown(text, page, None, None) == (
        "[b](benchmarks/index.md) and n (`notebooks/x.ipynb`), [c](cost.md)"
    )


def test_docstrings_show_examples_as_code(site):
    pytest.importorskip("griffe")
    found = doctest.testmod(site("docstrings"))
    assert (found.failed, found.attempted) == (0, 2)


def labels(text):
    """What an SVG says in words."""
    root = ElementTree.fromstring(text)
    return sorted(
        "".join(e.itertext()).strip() for e in root.iter() if "}text" in e.tag
    )


def test_the_committed_pictures_say_what_drawing_again_says(site):
    made = site("images").pictures()
    assert {path.name for path in (DOCS / "images").iterdir()} == set(made)
    for name, picture in made.items():
        assert labels((DOCS / "images" / name).read_text()) == labels(picture.svg())
