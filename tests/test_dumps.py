"""Dumps of a chip: read from files of every kind, and checked in a stream."""

import dataclasses
import itertools
import json
import re
import tracemalloc

import numpy as np
import pytest

import ascjax as asc
from ascjax import cli
from ascjax.dumps import DumpError, _archives, check_dumps, read_dump
from ascjax.verify import CaseFileError, read_cases
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations

SITE = {"instruction": "load2d", "product": "atlas_a2", "path": "A1->A2"}
CASE = {**SITE, "dtype": "half", "fields": {"repeatTimes": 2, "srcStride": 3}}


def buffers(dtype="float16"):
    """What CASE reads, and what it leaves on 7s."""
    src = np.arange(2048).astype(dtype)
    before = np.full(1024, 7).astype(dtype)
    params = asc.LoadData2DParams.from_fields(CASE["fields"])
    return src, before, np.asarray(asc.load_data(src, params, dst=before))


def saved(folder, cases, name="dumps.json"):
    file = folder / name
    file.write_text(json.dumps(cases))
    return file


def checked(file, **options):
    return list(check_dumps(read_cases(file), **options))


def write(folder, kind, name, array):
    """A buffer in a file of one kind; the name that a case has for it."""
    if kind == "bin":
        array.tofile(folder / f"{name}.bin")
    elif kind == "npy":
        np.save(folder / f"{name}.npy", array)
    elif kind == "npz":
        np.savez(folder / f"{name}.npz", it=array)
        return f"{name}.npz:it"
    else:
        from safetensors.numpy import save_file

        save_file({"it": array}, folder / f"{name}.safetensors")
        return f"{name}.safetensors:it"
    return f"{name}.{kind}"


@pytest.mark.parametrize("kind", ["bin", "npy", "npz", "safetensors"])
@pytest.mark.parametrize("wrong", [None, 300])
def test_a_dump_in_files_of_every_kind(tmp_path, kind, wrong):
    src, before, after = buffers()
    after = after.copy()
    if wrong is not None:
        after[wrong] = src[5]
    arrays = {"src": src, "dst_before": before, "dst_after": after}
    members = {name: write(tmp_path, kind, name, x) for name, x in arrays.items()}
    (found,) = checked(saved(tmp_path, [{**CASE, "id": "one", **members}]))
    assert (found.elements, found.compared) == (1024, ("dump",))
    if wrong is None:
        assert (found.status, found.mismatches) == ("ok", 0)
        return
    assert (found.status, found.mismatches) == ("mismatch", 1)
    assert found.message == (
        "destination element 300 (fractal 1, row 2, column 12; i 1, r 2, c 12): "
        f"expected {src[812].view('u2'):#06x}, got {src[5].view('u2'):#06x}, "
        "which source element 5 (fractal 0, row 0, column 5) holds"
    )
    bits = (f"{src[812].view('u2'):#06x}", f"{src[5].view('u2'):#06x}")
    assert dataclasses.astuple(found.first) == (300, 1, 2, 12, *bits)
    assert (found.product, found.path, found.dtype) == ("atlas_a2", "A1->A2", "half")
    assert found.calls[0].fields == CASE["fields"]


def test_one_archive_for_all_three(tmp_path):
    src, before, after = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    np.savez(tmp_path / "b.npz", src=src, dst_after=after)
    cases = [{**CASE, "id": name, "dump": f"{name}.npz"} for name in "ab"]
    assert [r.status for r in checked(saved(tmp_path, cases))] == ["ok", "ok"]


def test_without_a_destination_before_only_what_is_written_counts(tmp_path):
    src, _, after = buffers()
    after = after.copy()
    after[600:] = np.random.default_rng(0).random(424)  # not written
    np.savez(tmp_path / "a.npz", src=src, dst_after=after)
    file = saved(tmp_path, [{**CASE, "dump": "a.npz"}])
    assert checked(file)[0].status == "ok"
    after[500] += 1
    np.savez(tmp_path / "a.npz", src=src, dst_after=after)
    assert (checked(file)[0].status, checked(file)[0].mismatches) == ("mismatch", 1)


def test_what_was_not_written_is_said(tmp_path):
    src, before, _ = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=before)
    (found,) = checked(saved(tmp_path, [{**CASE, "dump": "a.npz"}]))
    assert found.message.endswith("got 0x4700, as it was before")


def test_nans_and_negative_zeros_are_compared_by_their_bits(tmp_path):
    src, before, _ = buffers()
    src.view("u2")[:] = np.arange(2048) + 0xFC00 - 1024
    params = asc.LoadData2DParams.from_fields(CASE["fields"])
    after = np.array(asc.load_data(src, params, dst=before))
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    file = saved(tmp_path, [{**CASE, "dump": "a.npz"}])
    assert checked(file)[0].status == "ok"
    after.view("u2")[3] ^= 1
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    assert checked(file)[0].mismatches == 1


def test_packed_4_bit_buffers(tmp_path):
    src = np.arange(1024, dtype="uint8")
    src.tofile(tmp_path / "src.bin")
    src[512:].tofile(tmp_path / "after.bin")
    case = {**CASE, "dtype": "int4b_t", "fields": {"startIndex": 1, "repeatTimes": 1}}
    case |= {"src": "src.bin", "dst_after": "after.bin"}
    (found,) = checked(saved(tmp_path, [case]))
    assert (found.status, found.elements) == ("ok", 1024)


# --- files that are at fault


def bad(name):
    """(what to do to a folder with a whole dump, status, text)."""

    def cut(folder):
        (folder / "src.bin").write_bytes(bytes(4095))

    def longer(folder):
        (folder / "dst_after.bin").write_bytes(bytes(4096))

    def gone(folder):
        (folder / "src.bin").unlink()

    def typed(folder):
        np.save(folder / "dst_after.npy", np.zeros(1024, "int32"))

    def named(folder):
        pairs = np.zeros(1024, [("x", "u1"), ("y", "u1")])
        np.save(folder / "dst_after.npy", pairs)

    def torn(folder):
        whole = (folder / "dst_after.npy").read_bytes()
        (folder / "dst_after.npy").write_bytes(whole[:500])

    def none(folder):
        (folder / "dst_after.npy").write_bytes(b"no array at all")

    return {
        "cut": (cut, "truncated", "hold 4096 bytes, by the case's size and half"),
        "longer": (longer, "overlong", "hold 2048 bytes, .* got 4096 bytes"),
        "gone": (gone, "missing", "src.bin: the buffer must be there"),
        "typed": (typed, "mistyped", "hold half, .* got an array of int32"),
        "named": (named, "mistyped", "hold half, .* got an array of .*x.*y"),
        "torn": (torn, "unreadable", "be a readable .npy file"),
        "none": (none, "unreadable", "be a readable .npy file"),
    }[name]


@pytest.mark.parametrize(
    "name", ["cut", "longer", "gone", "typed", "named", "torn", "none"]
)
def test_a_file_at_fault_is_the_status_of_its_case_alone(tmp_path, name):
    src, _, after = buffers()
    for folder in (tmp_path / "good", tmp_path / "bad"):
        folder.mkdir()
        src.tofile(folder / "src.bin")
        after.tofile(folder / "dst_after.bin")
        np.save(folder / "dst_after.npy", after)
    harm, status, text = bad(name)
    kind = "bin" if name in ("cut", "longer", "gone") else "npy"
    harm(tmp_path / "bad")
    sizes = {"src_size": 2048, "dst_size": 1024}
    cases = [
        {
            **CASE,
            **sizes,
            "id": str(k),
            "src": f"{folder}/src.bin",
            "dst_after": f"{folder}/dst_after.{kind}",
        }
        for k, folder in enumerate(["good", "bad", "good"])
    ]
    found = checked(saved(tmp_path, cases))
    assert [one.status for one in found] == ["ok", status, "ok"]
    assert re.search(text, found[1].message)
    assert found[1].failed


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("src.txt", "unreadable", "be named as .bin"),
        ("src.npz", "unreadable", "be named as"),
        ("src.npz:no", "missing", "no such file"),
        ("a.npz:no", "missing", "no member 'no'"),
        ("a.safetensors:x", "missing", "no such file"),
    ],
)
def test_names_that_are_no_buffer(tmp_path, name, status, text):
    src, _, after = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_after=after)
    case = {**CASE, "src": name, "dst_after": "a.npz:dst_after"}
    file = saved(tmp_path, [case])
    (found,) = checked(file)
    assert found.status == status
    assert text in found.message
    with pytest.raises(DumpError, match=re.escape(text)):
        read_dump(read_cases(file)[0])


def test_a_case_that_is_refused_is_an_error_of_its_own(tmp_path):
    src, _, after = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_after=after)
    cases = [
        {**CASE, "id": "far", "fields": {"startIndex": 99, "repeatTimes": 1}},
        {**CASE, "id": "field", "fields": {"repeatTimes": 256}},
        {**CASE, "id": "lacks", "instruction": "load9d"},
        CASE,
    ]
    cases = [{**case, "dump": "a.npz"} for case in cases]
    found = checked(saved(tmp_path, cases))
    assert [r.status for r in found] == ["error", "error", "unsupported", "ok"]
    assert "src must hold elements" in found[0].message
    assert "repeat_times must be in" in found[1].message


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"why": "too long"}, "stand in a case of its own"),
        ({"dump": 3}, "dump of x must be a string"),
        ({"src": "b.bin"}, "dump of x must stand for all buffers, got src beside it"),
        ({"dump": None, "src": "a.bin"}, "must be a string"),
        ({"dst_befor": "a.bin"}, "Write dst_before"),
    ],
)
def test_a_case_that_contradicts_itself(tmp_path, change, text):
    case = {**CASE, "id": "x", "dump": "a.npz", **change}
    with pytest.raises(CaseFileError, match=text):
        read_cases(saved(tmp_path, [case]))


# --- archives of many dumps


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_an_archive_is_opened_once_for_all_its_dumps(tmp_path, kind, monkeypatch):
    src, before, after = buffers()
    members = {"dst_before": before}
    for k in range(20):
        members |= {f"src{k}": src, f"after{k}": after}
    file = write_all(tmp_path, kind, members)
    names = {"src": "src{}", "dst_after": "after{}", "dst_before": "dst_before"}
    cases = [
        {**CASE, **{m: f"{file}:{name.format(k)}" for m, name in names.items()}}
        for k in range(20)
    ]
    opened = []
    once = _archives._opened
    monkeypatch.setattr(_archives, "_opened", lambda p: opened.append(p) or once(p))
    assert {one.status for one in checked(saved(tmp_path, cases))} == {"ok"}
    assert len(opened) == 1
    # Written anew, it is opened anew.
    write_all(tmp_path, kind, {**members, "after3": before})
    found = checked(saved(tmp_path, cases))
    assert [k for k, one in enumerate(found) if one.status != "ok"] == [3]
    assert len(opened) == 2


def write_all(folder, kind, members):
    if kind == "npz":
        np.savez(folder / "all.npz", **members)
    else:
        from safetensors.numpy import save_file

        save_file(members, folder / "all.safetensors")
    return f"all.{kind}"


def test_no_more_archives_are_open_than_a_few(tmp_path):
    src, before, after = buffers()
    arrays = {"src": src, "dst_before": before, "dst_after": after}
    for k in range(20):
        np.savez(tmp_path / f"{k}.npz", **arrays)
    cases = [{**CASE, "id": str(k), "dump": f"{k}.npz"} for k in range(20)]
    assert {one.status for one in checked(saved(tmp_path, cases))} == {"ok"}
    assert len(_archives._held) == 8
    _archives.close_all()
    assert not _archives._held


# --- many


def drawn(folder, count, wrong=()):
    """Dumps of every instruction in turn by their maps, those in `wrong` changed."""
    rng = np.random.default_rng(3)
    sites = [site for site in combinations() if site[0] != "fixpipe"]
    cases = []
    for k in range(count):
        instruction, site = sites[k * 7 % len(sites)]
        made = sample(
            instruction,
            site,
            lambda a, b: int(rng.integers(a, b + 1)),
            nop=False,
        )
        move = made.move(site)
        word = f"uint{max(8, move.type.bits)}"
        top = 2 ** min(move.type.bits, 63)
        src, before = (
            rng.integers(0, top, n).astype(word) for n in (made.src_size, made.dst_size)
        )
        fills = [np.array(f % 2**64, "u8").astype(word)[()] for f in move.fills]
        after = move.index_map.apply(src, before, fill=fills)
        if k in wrong:
            after[np.argmax(move.index_map.index != -1)] ^= 1
        if move.type.bits == 4 or site.type.bits != move.type.bits:
            arrays = [x[: x.size // 2 * 2] for x in (src, before, after)]
            if [x.size for x in arrays] != [src.size, before.size, after.size]:
                continue
            arrays = [x[0::2] | x[1::2] << 4 for x in arrays]
        else:
            arrays = [src, before, after]
        names = ("src", "dst_before", "dst_after")
        np.savez(folder / f"{k}.npz", **dict(zip(names, arrays, strict=True)))
        cases.append(
            {
                "id": str(k),
                "instruction": instruction,
                "product": site.product.key,
                "path": site.path,
                "dtype": site.type.name,
                "fields": made.params.to_fields(),
                "src_offset": made.src_offset,
                "dst_offset": made.dst_offset,
                "dump": f"{k}.npz",
            }
        )
    return cases


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    wrong = {5, 50, 100}
    return saved(folder, drawn(folder, 120, wrong)), wrong


def test_many_dumps_of_every_instruction_in_little_memory(many):
    file, wrong = many
    found = checked(file, memory=1 << 16)
    assert len(found) > 100
    failed = {int(one.id) for one in found if one.status != "ok"}
    assert failed == wrong & {int(one.id) for one in found}
    assert len(failed) == 3


def test_cases_are_read_as_they_are_needed(tmp_path):
    """A stream of any length: the first results come before the last cases."""
    src, before, after = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    (case,) = read_cases(saved(tmp_path, [{**CASE, "dump": "a.npz"}]))
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield case

    results = check_dumps(endless(), memory=100 * (src.nbytes + after.nbytes))
    assert [next(results).status for _ in range(5)] == ["ok"] * 5
    assert taken <= 110


def test_bad_cases_are_given_out_as_they_come(tmp_path):
    (case,) = read_cases(saved(tmp_path, [{**CASE, "dump": "gone.npz"}]))
    results = check_dumps(itertools.repeat(case))
    assert [next(results).status for _ in range(5)] == ["missing"] * 5


@pytest.mark.parametrize("wrong", [0, 1])
def test_sources_are_not_held_while_their_cases_wait(tmp_path, wrong):
    """A fractal out of a large source: none of the sources stays, a mismatch reads its
    own again."""
    src = np.arange(1 << 20, dtype="uint32").view("uint16")  # 4 MiB
    src.tofile(tmp_path / "src.bin")
    (src[512:768] ^ wrong).tofile(tmp_path / "after.bin")
    case = {**CASE, "fields": {"startIndex": 2, "repeatTimes": 1}}
    case |= {"src": "src.bin", "dst_after": "after.bin"}
    (case,) = read_cases(saved(tmp_path, [case]))
    tracemalloc.start()
    try:
        found = list(check_dumps(itertools.repeat(case, 60)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {one.status for one in found} == {("ok", "mismatch")[wrong]}
    assert peak < 10 * src.nbytes


# --- the command


def test_the_command_takes_dumps_beside_other_cases(tmp_path, capsys):
    src, before, after = buffers()
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    other = {**CASE, "id": "by the oracle", "src_size": 2048, "dst_size": 512}
    cases = [{**CASE, "id": "dump", "dump": "a.npz"}, other]
    file = saved(tmp_path, cases)
    assert cli.main(["verify", str(file)]) == 0
    assert "1 against the oracle, 1 against a dump" in capsys.readouterr().out
    after = np.where(np.arange(1024) == 0, 1, after).astype("float16")
    np.savez(tmp_path / "a.npz", src=src, dst_before=before, dst_after=after)
    assert cli.main(["verify", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "dump: mismatch: destination element 0 (fractal 0, row 0, column 0" in out
