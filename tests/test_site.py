"""The docs site: generated pages say what the package declares, in both languages."""

import doctest
import importlib
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from test_docstrings import PUBLIC
from test_sixth_instruction import installed

import ascjax as asc
from ascjax.examples import figures
from ascjax.instr import REGISTRY

DOCS = Path(__file__).parents[1] / "docs"
GOLDEN = Path(__file__).parent / "golden"
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
    for name, cls in instruction.every().items():
        text = instruction.page_of(name, "en", "x.svg")
        check_page(text, cls)
        assert cls.__name__ in text and (name == "mmad" or "x.svg" in text)
        assert f"[{name}]({name}.md)" in instruction.index_of("en")


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
    assert words.SUMMARIES_ZH.keys() == instruction.every().keys()
    for name, cls in instruction.every().items():
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


def test_each_erratum_is_on_the_page_of_its_instruction(site):
    errata, instruction = site("errata"), site("instruction")
    held = {number for line in errata.OF.values() for number in line.split()}
    assert held | {*errata.GENERAL} == errata.told().keys()
    assert errata.OF.keys() <= instruction.every().keys()
    text = instruction.page_of("nz2nd", "en", "x.svg")
    assert "- [E6](../spec/errata.md#e6): NZ2ND:" in text and "[Q16]" not in text


def test_products_of_numbers_are_no_emphasis(site):
    errata = site("errata")
    page = errata.as_lists(errata.FILE.read_text())
    assert r"gives an iteration as 16\*64\*0.5 bytes" in page
    assert page.count('- <a id="') == len(errata.told())
    spec = errata.times((DOCS / "spec" / "instructions.md").read_text())
    assert "reluEn:\n\n    dst[nd*dstNdStride" in spec
    plain = re.sub(r"`[^`]*`|^    .*$", "", page + spec, flags=re.M)
    assert re.findall(r"(?<!\\)\*(?=\w)[^*\n]*(?<=\w)\*(?=\w)", plain) == []


def test_every_field_has_a_meaning_in_both_languages(site):
    fields, instruction = site("fields"), site("instruction")
    for name, cls in instruction.every().items():
        english, chinese = (list(fields.rows_of(cls, at)) for at in ("en", "zh"))
        for (c, *_, said), (again, *_, told) in zip(english, chinese, strict=True):
            assert c == again and said, (name, c)
            assert re.search(r"[\u4e00-\u9fff]", told), (name, c, told)
    meanings = site("meanings")
    for name, own in meanings.MEANINGS.items():
        assert own.keys() <= instruction.every()[name].c_fields().keys(), name


def test_a_field_s_row_says_how_python_reaches_it(site):
    rows = {row[0]: row[1:] for row in site("fields").rows_of(asc.NdDmaParams, "en")}
    assert rows["`loopLpSize`"][0] == "`loop_info.loop_lp_size`"
    assert rows["`loopLpSize`"][2] == "0 each"
    assert rows["`config.loopLpSize`"][0] == "`config.loop_lp_size`"
    assert rows["`config.loopLpSize`"][2] == "`0xFFFF`"
    assert rows["`loopSize`"][2] == "must be given"


def check_code(text):
    """Run a page's block; its move must have the formula that the page shows."""
    (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (formula,) = re.findall(r"```text\n(.*?)\n```", text, re.S)
    space = {}
    exec(compile(block, "page", "exec"), space)
    assert str(space["move"].nests[0]) == formula
    return space["params"]


def test_the_code_of_each_page_runs_and_has_its_formula(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    instruction = site("instruction")
    for name in ("load2dv2", "nddma", "data_copy_pad", "fixpipe"):  # test_explore: all
        made = check_code(instruction.page_of(name, "en", "x.svg"))
        assert made == instruction.form_of(name).start.params


def test_code_with_another_formula_goes_red(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = site("instruction").page_of("load2d", "en", "x.svg")
    with pytest.raises(AssertionError):
        check_code(text.replace("src_stride=2", "src_stride=1"))


def test_an_instruction_that_is_registered_gets_a_page(site):
    with installed() as sixth:
        instruction = site("instruction")
        for language in ("en", "zh"):
            text = instruction.page_of("mirror", language, "x.svg")
            assert "# mirror" in text and "x.svg" in text
        check_page(instruction.page_of("mirror", "en", "x.svg"), sixth.MirrorParams)
        assert "[mirror](mirror.md)" in instruction.index_of("zh")


def test_the_api_has_every_public_name():
    text = (DOCS / "api.md").read_text()
    shown = set(re.findall(r"^::: ascjax\.([\w.]+)$", text, re.M))
    structs = {c.__name__ for c in REGISTRY.values()} | {"MmadParams"}
    structs |= {p.__name__ for c in REGISTRY.values() for p in c.parts().values()}
    assert {name.removeprefix("asc.") for name in PUBLIC} - shown - structs == set()


def test_links_that_leave_the_docs_are_named(site):
    hooks = site("hooks")
    page = type("P", (), {"file": type("F", (), {"src_uri": "scale.md"})})
    text = "[b](../benchmarks/README.md), [n](../notebooks/x.ipynb), [t](../tests/t.py)"
    assert hooks.on_page_markdown(text, page, None, None) == (
        "[b](benchmarks/index.md), [n](notebooks/x.md), t (`tests/t.py`)"
    )


def test_docstrings_show_examples_as_code(site):
    pytest.importorskip("griffe")
    found = doctest.testmod(site("docstrings"))
    assert (found.failed, found.attempted) == (0, 2)


def test_each_notebook_is_a_page_with_its_outputs(site):
    notebook, nav = site("notebook"), (DOCS.parent / "mkdocs.yml").read_text()
    assert doctest.testmod(notebook).failed == 0
    for path in notebook.every():
        text, pictures = notebook.page(path)
        cells = json.loads(path.read_text())["cells"]
        outputs = [o for cell in cells for o in cell.get("outputs", ())]
        drawn = [o for o in outputs if "image/png" in o.get("data", {})]
        assert text.startswith("# ") and len(pictures) == len(drawn)
        assert text.count("\n```text\n") >= len(outputs) - len(drawn)
        assert all(name in text for name in pictures)
        assert f"notebooks/{path.stem}.md" in nav


def test_what_was_checked_is_counted_right():
    text = (DOCS / "checked-against.md").read_text()
    golden = {p.stem: json.loads(p.read_text()) for p in GOLDEN.glob("*.json")}
    named = {"callsites": "53 call sites", "invalid": "65 inputs"}
    for stem, said in named.items():
        assert said in text and len(golden.pop(stem)) == int(said.split()[0])
    scenarios = golden.pop("scenarios")
    assert len(scenarios) == 2 * 22 and "22 matmul scenarios at two sizes" in text
    assert [len(cases) for cases in golden.values()] == [48] * 8
    assert f"{48 * 8 + 53 + 65 + 44} cases" in text and "48 random sets" in text


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
