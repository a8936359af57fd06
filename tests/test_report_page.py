"""The page of a run: whole in one file, safe, and with pictures that are true."""

import base64
import dataclasses
import datetime
import html.parser
import io
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import ascjax as asc
from ascjax.dumps import check_dumps
from ascjax.dumps._check import jobs_of
from ascjax.instr import REGISTRY
from ascjax.page._extra import check_report
from ascjax.page._failure import Failure, excerpt, failure_of
from ascjax.page._page import _data_uri, write_page
from ascjax.page._pictures import COLOURS, legend_of, pictures_of
from ascjax.page._view import View, dump_of, view_of_dump, view_of_map
from ascjax.patterns._patterns import Pattern
from ascjax.pictures._sheet import OTHER
from ascjax.sweeps._bits import word
from ascjax.sweeps._dump import Dump
from ascjax.sweeps._jobs import run_jobs
from ascjax.verify import Result, check_case, read_cases
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations
from ascjax.verify._tally import Tally

pytestmark = pytest.mark.quick

HOSTILE = "<script>alert(1)</script>"
FIELDS = {"repeatTimes": 3, "srcStride": 2}
SITE = {"product": "atlas_a2", "path": "A1->A2", "dtype": "half"}
MADE = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
SRC = np.arange(4096, dtype="uint16")


def ran(**fields):
    """What a call leaves on zeros but for its own."""
    params = asc.LoadData2DParams.from_fields({**FIELDS, **fields})
    before = np.full(2048, 60_000, "uint16")
    move = asc.Move.of(params, src_size=4096, dst_size=2048, dtype="half")
    return before, move.index_map.apply(SRC, before, fill=[np.uint16(0)])


def dump(folder, name, **really):
    before, after = ran(**really)
    file = f"{len(list(folder.iterdir()))}.npz"
    np.savez(folder / file, src=SRC, dst_before=before, dst_after=after)
    fields = {"id": name, "instruction": "load2d", "fields": FIELDS, "dump": file}
    return {**SITE, **fields}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Cases of all kinds, their results and failures."""
    folder = tmp_path_factory.mktemp("run")
    cases = [dump(folder, "gap", dstGap=1), dump(folder, HOSTILE, srcStride=1)]
    cases += [dump(folder, "good"), dump(folder, "gone", dstGap=1)]
    cases.append({**dump(folder, "refused"), "fields": {"repeatTimes": 256}})
    cases.append({**dump(folder, "missing"), "dump": "none.npz"})
    file = folder / "dumps.json"
    file.write_text(json.dumps(cases))
    read = read_cases(file)
    results = list(check_dumps(read))
    (folder / "3.npz").unlink()
    failures = [
        failure_of(case, result)
        for case, result in zip(read, results, strict=True)
        if result.failed
    ]
    return read, results, failures


PATTERNS = [
    Pattern("dstGap", "mod 2", 1, 12, 12, "all 12 have dstGap odd; <b>", 3, 1988),
    Pattern("fractal", "mod 2", 1, 12, 12, "all 12 begin in an odd fractal"),
]


def page(folder, run, name="out.html", **changed):
    _, results, failures = run
    tally = Tally().add_all(results)
    rows, total = tally.sorted_rows, tally.total
    options = {"title": f"dumps & {HOSTILE}", "rows": rows, "total": total}
    options |= {"patterns": PATTERNS, "failures": failures, "seconds": 1.25}
    options |= {"versions": {"ascjax": "0.1.0"}, "made": MADE}
    write_page(folder / name, **{**options, **changed})
    return (folder / name).read_text(encoding="utf-8")


class Page(html.parser.HTMLParser):
    """What a page has: tags, ids, links, pictures; what is open is closed."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.alts = [], [], [], []
        self.open, self.wrong, self.text = [], [], ""
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.tags.append(tag)
        self.ids += [held["id"]] if "id" in held else []
        for name in ("href", "src", "srcset", "action", "data", "poster"):
            self.links += [held[name]] if name in held else []
        self.links += re.findall(r"url\(([^)]*)\)", held.get("style") or "")
        self.wrong += [name for name in held if name.startswith("on")]
        if tag == "img":
            self.alts.append(held.get("alt"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "style":
            self.links += re.findall(r"url\(([^)]*)\)|@import[^;]*", data)


def faults(text):
    """What is wrong with a page that should stand alone, in words."""
    found = Page(text)
    external = [x for x in found.links if not x.startswith(("#", "data:"))]
    lost = [x for x in found.links if x[:1] == "#" and x[1:] not in found.ids]
    twice = [x for x in found.ids if found.ids.count(x) > 1]
    active = [x for x in found.tags if x in ("script", "iframe", "object", "link")]
    return found.wrong + external + lost + twice + active


def test_the_page_stands_alone(tmp_path, run):
    text = page(tmp_path, run)
    assert faults(text) == []
    found = Page(text)
    sections = {"summary", "patterns", "instructions", "failures", "versions"}
    assert sections <= set(found.ids)
    assert {f"failure-{k}" for k in range(1, 6)} <= set(found.ids)
    assert len(text) < 200_000


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("<main>", '<main><img src="https://a/b.png" alt="">', "https://a/b.png"),
        ("<main>", '<main><script src="#versions"></script>', "script"),
        ("<main>", '<main onclick="x()">', "onclick"),
        ("<main>", '<main style="background: url(x.png)">', "x.png"),
        ("body {", "body { background: url(y.png);", "y.png"),
        ('id="failure-1"', "", "#failure-1"),
        ('id="failures"', 'id="patterns"', "patterns"),
        ("</article>", "", "/section"),
    ],
)
def test_faults_go_red(tmp_path, run, old, new, fault):
    assert fault in faults(page(tmp_path, run).replace(old, new))


def test_what_a_case_file_says_stays_text(tmp_path, run):
    text = page(tmp_path, run)
    assert "<script" not in text and "odd; <b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert HOSTILE in Page(text).text


def test_the_page_tells_the_run(tmp_path, run):
    said = " ".join(re.sub("<[^>]*>", " ", page(tmp_path, run)).split())
    for words in (
        "5 of 6 cases failed",
        "all 12 have dstGap odd",
        "3 of 1,988",
        "matches exactly if dst_gap were 1 (claimed 0)",
        "destination element 256 (fractal 1, row 0, column 0",
        "repeatTimes 3",
        "fractal 1, row 0 (element 256)",
        "none.npz",
        "repeat_times must be in [0, 255]",
        "2026-01-02 00:00:00 UTC",
        "ascjax 0.1.0.",
        "seconds 1.2",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (["ok", "ok"], "All 2 cases passed"),
        ([], "There was no case"),
        (["ok", "unsupported"], "No case failed; 1 of 2 unsupported"),
        (["ok", "mismatch"], "Nothing that chance would not explain."),
    ],
)
def test_the_verdict(tmp_path, run, status, words):
    results = [Result(str(k), "load2d", one) for k, one in enumerate(status)]
    failures = [Failure(one) for one in results if one.failed]
    text = page(tmp_path, (None, results, failures), patterns=[])
    assert faults(text) == []
    assert words in Page(text).text
    assert ("failures" in Page(text).ids) == ("mismatch" in status)


def test_two_pages_differ_by_the_time_only(tmp_path, run):
    read, results, _ = run
    again = [
        failure_of(case, result)
        for case, result in zip(read, results, strict=True)
        if result.failed
    ]
    first = page(tmp_path, run)
    assert first == page(tmp_path, (read, results, again))
    later = page(tmp_path, run, made=MADE + datetime.timedelta(seconds=5))
    changed = [
        (a, b)
        for a, b in zip(first.splitlines(), later.splitlines(), strict=True)
        if a != b
    ]
    assert len(changed) == 1 and "<time" in changed[0][0]


# --- pictures


def test_each_mismatch_that_can_be_read_has_three_pictures(run):
    _, _, failures = run
    count = {one.result.id: len(one.pictures) for one in failures}
    assert count == {"gap": 3, HOSTILE: 3, "gone": 0, "refused": 0, "missing": 0}
    assert [one.title for one in failures[0].pictures] == ["expected", "got", "wrong"]


def cells(picture):
    """The cells of a picture, from the image inside it: (rows, columns, 4)."""
    from PIL import Image

    root = ElementTree.fromstring(picture.svg)
    (image,) = root.iter("{http://www.w3.org/2000/svg}image")
    data = image.get("{http://www.w3.org/1999/xlink}href").split(",", 1)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


def test_pictures_are_small_valid_and_described(tmp_path, run):
    _, _, failures = run
    for picture in failures[0].pictures:
        root = ElementTree.fromstring(picture.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme: dark" in picture.svg
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", picture.svg)
    assert sum(len(one.svg) for one in failures[0].pictures) < 45_000
    alts = Page(page(tmp_path, run)).alts
    assert len(alts) == 6 and all(len(alt) > 30 for alt in alts)
    assert "Elements 0 to 2047 around destination element 256" in alts[0]
    assert "wrong" in alts[2]


def test_the_view_of_a_dump_is_true(run):
    """What was written a gap apart: fractal 1 kept, 2 held by what belongs to 1."""
    view = view_of_dump(*dump_of(run[0][0]))
    assert (view.start, view.at, view.c0, view.width) == (0, 256, 16, 4)
    fractals = np.arange(256)
    assert view.expected[256:512].tolist() == (512 + fractals).tolist()
    assert (view.got[256:512] == -1).all()
    assert view.got[512:768].tolist() == (512 + fractals).tolist()
    assert (view.expected[768:1024] == -1).all()
    assert (
        view.wrong.tolist()
        == np.isin(np.arange(2048) // 256, (1, 2, 4))[: view.wrong.size].tolist()
    )
    assert view.texts[0][256] == "0200" and view.texts[1][256] == "ea60"


def test_the_picture_shows_where_the_view_is_wrong(run):
    view = view_of_dump(*dump_of(run[0][0]))
    marked = cells(pictures_of(view)[2])
    red = (marked[..., 0] > 150) & (marked[..., 1] < 100) & (marked[..., 3] > 0)
    assert int(red.sum()) == int(view.wrong.sum())
    shades = {tuple(x) for x in cells(pictures_of(view)[0]).reshape(-1, 4)}
    assert len(shades) > 100  # one for each row at least
    legend = legend_of(view)
    assert legend.ends == (0, 1279) and legend.others == (-1,)


def test_bits_from_nowhere_have_a_colour_of_their_own(tmp_path):
    case = dump(tmp_path, "one")
    held = dict(np.load(tmp_path / case["dump"]))
    held["dst_after"][300] = 50_000
    np.savez(tmp_path / case["dump"], **held)
    (tmp_path / "x.json").write_text(json.dumps([case]))
    (read,) = read_cases(tmp_path / "x.json")
    view = view_of_dump(*dump_of(read))
    assert (view.got[300], view.wrong.sum()) == (OTHER, 1)
    assert OTHER in legend_of(view).others


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
def test_the_window_holds_the_first_mismatch(bits):
    from ascjax.page._view import FRACTALS, ROWS, WIDTH, _piece

    move = asc.Move.of(asc.LoadData2DParams(0, 1), dtype="half", src_size=256)
    for path, unit in (("A1->A2", 16 * 256 // bits), ("VECOUT->GM", WIDTH)):
        placed = dataclasses.replace(move, path=path)
        for at in (0, 1, 5000, 99_999):
            wrong = np.zeros(100_000, bool)
            wrong[at:] = True
            start, first, c0, part = _piece(placed, bits, wrong)
            assert (first, start % unit) == (at, 0)
            assert part.start <= at < part.stop
            assert (c0 is None) == (path == "VECOUT->GM")
            most = ROWS * WIDTH if c0 is None else FRACTALS * unit
            assert part.stop - part.start <= most


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_instruction_has_a_picture(name):
    """One element of what it writes is damaged, with and without what was there."""
    site = next(site for key, site in combinations() if key == name)
    rng = np.random.default_rng(3)
    made = sample(name, site, lambda a, b: int(rng.integers(a, b + 1)), nop=False)
    move = made.move(site)
    src = rng.integers(0, 2 ** min(move.type.bits, 62), move.src_size)
    src, held = src.astype(word(move.type)), word(move.arrives)
    before = np.zeros(move.dst_size, held)
    (after,) = run_jobs(jobs_of(move, Dump(src, before, before)))
    after = after.copy()
    at = int(np.flatnonzero(move.index_map.index >= 0)[-1])
    after[at] ^= 1
    for dst_before in (before, None):
        view = view_of_dump(move, Dump(src, dst_before, after))
        assert (view.at, view.wrong.sum(), view.wrong[at - view.start]) == (at, 1, 1)
        assert [cells(one).any() for one in pictures_of(view)] == [True] * 3
        assert excerpt(view).count("^") == len(view.texts[0][0])


def test_a_dump_that_is_right_by_now_has_no_picture(run):
    read, results, _ = run
    assert results[2].status == "ok"
    wrong = dataclasses.replace(results[2], status="mismatch")
    assert failure_of(read[2], wrong) == Failure(wrong)


def test_several_calls_are_shown_and_diagnosed(tmp_path):
    calls = [{"fields": FIELDS}, {"fields": FIELDS, "dst_offset": 1024}]
    case = {**dump(tmp_path, "two"), "calls": calls}
    del case["fields"]
    (tmp_path / "x.json").write_text(json.dumps([case]))
    (read,) = read_cases(tmp_path / "x.json")
    (result,) = check_dumps([read])
    failure = failure_of(read, result)
    assert len(failure.pictures) == 3
    assert failure.explanations[0] == "matches exactly if call 1 were left out"
    text = page(tmp_path, (None, [result], [failure]))
    assert "<h4>Calls</h4>" in text and "<b>dst_offset</b> 1024" in text


def test_a_map_is_shown_in_source_elements(tmp_path):
    case = {"id": "m", "instruction": "load2d", "fields": {"repeatTimes": 2}, **SITE}
    case |= {"src_size": 512, "dst_size": 512}
    index = np.concatenate([np.arange(256), np.full(256, -1)])
    index[7] = 9
    (tmp_path / "m.json").write_text(json.dumps([case]))
    np.savez(tmp_path / "m.npz", m=index)
    (read,) = read_cases(tmp_path / "m.json")
    result = check_case(read)
    assert result.status == "mismatch"
    failure = failure_of(read, result)
    view = view_of_map(read)
    assert (view.at, view.expected[7], view.got[7]) == (7, 9, 7)
    assert len(failure.pictures) == 3 and failure.explanations == ()
    lines = failure.excerpt.splitlines()
    assert lines[0] == "fractal 0, row 0 (element 0)"
    assert lines[1].split()[1:9] == ["0", "1", "2", "3", "4", "5", "6", "9"]
    assert lines[3].rindex("^") == lines[1].index("9")


def test_where_there_are_no_fractals_rows_are_drawn():
    codes = np.arange(300)
    got = np.where(codes == 130, 5, codes)
    texts = tuple(x.astype(str) for x in (codes, got))
    view = View(0, 130, None, codes, got, codes != got, texts)
    picture = cells(pictures_of(view)[2])
    assert picture.shape[:2] == (5, 64)
    assert tuple(picture[2, 2, :3]) == (0xD4, 0x3F, 0x3F)
    assert picture[4, 60, 3] == 0  # no element
    assert ">0</text>" in pictures_of(view)[0].svg


@pytest.mark.parametrize("c0", [64, 16, 4, None])
def test_a_failure_stays_small_in_the_worst_case(c0):
    """Noise, of which images cannot be made small."""
    rng = np.random.default_rng(0)
    size = min(4096, 256 * c0) if c0 else 1536
    codes = [rng.permutation(size) for _ in range(2)]
    texts = tuple(x.astype(str) for x in codes)
    view = View(0, 0, c0, *codes, codes[0] != codes[1], texts)
    assert sum(len(_data_uri(one)) for one in pictures_of(view)) < 66_000


def test_the_colours_are_told_apart():
    assert len(set(COLOURS.values())) == 3


# --- what it needs


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_a_package_the_extra_is_named(monkeypatch, package, run):
    check_report()
    for name in list(sys.modules):
        if name.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    said = rf"the package {package} must be .*pip install 'ascjax\[report\]'"
    with pytest.raises(asc.SupportError, match=said):
        check_report()
    with pytest.raises(asc.SupportError, match=said):
        failure_of(run[0][0], run[1][0])


def test_a_page_that_cannot_be_written_is_refused(tmp_path, run):
    with pytest.raises(asc.AscendError, match=r"--report .*x\.html must be writ"):
        page(tmp_path, run, name="none/x.html")


def test_a_name_that_is_no_text_is_written_escaped(tmp_path, run):
    """As a file's may be, whose bytes are not UTF-8."""
    assert r"\udcff.json" in page(tmp_path, run, title="\udcff.json")
