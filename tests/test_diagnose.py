"""`asc.diagnose`: planted faults of many kinds, and what it says of them."""

import dataclasses
import json

import numpy as np
import pytest

import ascjax as asc
from ascjax import cli, diagnosis
from ascjax.diagnosis._diagnose import of_calls
from ascjax.diagnosis._rules import Claim
from ascjax.sweeps._dump import Dump

FIELDS = {"repeatTimes": 3, "srcStride": 2, "startIndex": 1}
SRC = np.arange(4096, dtype="uint16")


def ran(dst_size=2048, src=SRC, src_offset=0, **fields):
    """What a call really left on 7s."""
    before = np.full(dst_size, 7, "uint16")
    params = asc.LoadData2DParams.from_fields({**FIELDS, **fields})
    after = asc.load_data(
        src, params, dst=before, src_offset=src_offset, dtype="uint16_t"
    )
    return before, np.array(after)


def said(after, before, **options):
    return asc.diagnose(SRC, before, after, "load2d", FIELDS, "half", **options)


def test_a_dump_that_matches_says_so():
    before, after = ran()
    found = said(after, before)
    assert found.matches and found.explanations == () and found.best is None
    assert str(found) == "load2d: the claimed call explains all 2048 elements."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"dstGap": 1}, "dst_gap were 1 (claimed 0)"),
        ({"srcStride": 3}, "src_stride were 3 (claimed 2)"),
        ({"startIndex": 0}, "start_index were 0 (claimed 1)"),
        ({"repeatTimes": 2}, "repeat_times were 2 (claimed 3)"),
        ({"ifTranspose": True}, "if_transpose were True (claimed False)"),
        (
            {"startIndex": 2, "srcStride": 1},
            "start_index were 2 (claimed 1) and src_stride were 1 (claimed 2)",
        ),
    ],
)
def test_a_field_is_named(fields, text):
    before, after = ran(**fields)
    found = said(after, before)
    assert str(found.best) == f"matches exactly if {text}"
    assert found.best.params == asc.LoadData2DParams.from_fields({**FIELDS, **fields})


def test_a_start_in_another_place_is_named():
    before, after = ran(src_offset=16)
    found = said(after, before, product="atlas_a2", path="A1->A2")
    assert found.best.said == "src_offset were 16 (claimed 0, elements)"


def test_another_width_is_named():
    """A square of 8-bit elements is transposed otherwise than one of 16 bits."""
    fields = {"repeatTimes": 1}
    src = np.arange(512, dtype="uint16")
    wide = asc.LoadData2dTransposeParams.from_fields(fields)
    after = asc.load_data_with_transpose(src.view("int8"), wide, dst_size=1024)
    after = np.asarray(after).view("uint16")
    found = asc.diagnose(src, np.zeros(512, "u2"), after, "ldwt_v1", fields, "half")
    assert "elements were 8 bits wide (claimed 16)" in [
        x.said for x in found.explanations
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda before, after: before, "nothing had been written"),
        (lambda before, after: after.byteswap(), "were in reverse order"),
        (
            lambda before, after: np.concatenate([after[:300], before[300:]]),
            "it had stopped after 300 of 768 elements written",
        ),
        (
            lambda before, after: after ^ (np.arange(2048) == 77).astype("u2"),
            "no call near it explains every bit; it may be that 1 elements were "
            "damaged (1 bits)",
        ),
    ],
)
def test_damage_that_no_call_explains(change, text):
    before, after = ran()
    if "reverse" in text:
        before = before.byteswap() * 0
        after = np.where(np.arange(2048) < 768, ran()[1], 0).astype("u2")
    found = said(change(before, after), before)
    assert text in str(found.explanations[0])
    assert found.explanations[0].params is None
    assert (found.best is None) == ("damaged" in text)


def test_noise_is_explained_by_nothing():
    before, after = ran()
    noise = np.random.default_rng(0).integers(0, 2**16, after.size).astype("u2")
    found = said(noise, before)
    assert found.best is None
    assert "changed calls explains every bit" in str(found)


def test_a_narrower_width_gains_nothing_by_bytes_that_match_by_chance():
    before, after = ran(startIndex=0)
    mixed = said(before, after)  # before and after exchanged
    assert not any("8 bits" in one.said for one in mixed.explanations[:1])
    assert {one.elements for one in mixed.explanations} <= {2048}
    assert len(mixed.explanations) <= 10


def test_ambiguity_is_said():
    """All fractals of this source are the same."""
    src = np.tile(SRC[:256], 16)
    before = np.zeros(2048, "u2")
    params = asc.LoadData2DParams.from_fields({**FIELDS, "dstGap": 1})
    after = np.asarray(asc.load_data(src, params, dst=before, dtype="uint16_t"))
    found = asc.diagnose(src, before, after, "load2d", FIELDS, "half")
    assert "dst_gap were 1" in found.best.said
    assert "match this dump equally" in str(found)


def test_without_what_was_there_before():
    _, after = ran(dstGap=2)
    assert said(after, None).best.said == "dst_gap were 2 (claimed 0)"


def test_to_dict_is_json_ready():
    before, after = ran(dstGap=1)
    held = said(after, before).to_dict()
    assert held["explanations"][0]["params"]["fields"]["dstGap"] == 1
    assert (held["matches"], held["explanations"][0]["exact"]) == (False, True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda b, a: said(a, b[:5]), asc.BoundsError, "dst_before must hold 2048"),
        (
            lambda b, a: asc.diagnose(SRC, b, a, "mmad", {}, "half"),
            asc.SupportError,
            "^diagnose: instruction must be a move",
        ),
        (
            lambda b, a: asc.diagnose(SRC, b, a, "load2d", 3, "half"),
            asc.ParamError,
            "fields must be LoadData2DParams or a mapping",
        ),
        (
            lambda b, a: asc.diagnose(
                SRC, b, a, "load2d", {"repeatTimes": 256}, "half"
            ),
            asc.ParamError,
            "repeat_times must be in",
        ),
        (
            lambda b, a: asc.diagnose(SRC.astype("i4"), b, a, "load2d", FIELDS, "half"),
            asc.ParamError,
            "src must hold half",
        ),
    ],
)
def test_bad_input_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(*ran())


def test_a_rule_can_be_added():
    def as_built(claim):
        call = dataclasses.replace(claim.call, src_offset=77)
        yield diagnosis.Candidate(
            diagnosis.Claim(call, claim.type), "the chip added 77", 0.5
        )

    rule = diagnosis.Rule("as built", "a chip of its own mind", as_built)
    diagnosis.register(rule)
    try:
        before, after = ran(src_offset=77)
        assert said(after, before).best.said == "the chip added 77"
        with pytest.raises(ValueError, match="a rule 'as built' already"):
            diagnosis.register(rule)
    finally:
        diagnosis.RULES.remove(rule)


# --- what is no other call, and several calls


def test_files_that_were_exchanged_are_named():
    before, after = ran()
    assert said(before, after).best.said == "dst_before and dst_after were exchanged"


def test_halves_of_bytes_that_were_exchanged_are_named():
    fields = {"startIndex": 1, "repeatTimes": 1}
    src = np.random.default_rng(0).integers(0, 256, 1024).astype("u1")
    swapped = (src[512:] << 4 | src[512:] >> 4).astype("u1")
    for dtype in ("int4b_t", "int8_t"):
        right = src[512:] if dtype == "int4b_t" else src[512:].copy()
        found = asc.diagnose(src, right * 0, swapped, "load2d", fields, dtype)
        assert found.best.said == "the two halves of each byte were exchanged"


def test_another_source_is_named():
    before, after = ran(src=SRC[::-1].copy())
    found = said(after, before)
    assert found.best is None
    assert found.explanations[0].said == (
        "the source was another one: of 768 elements taken from it 768 are wrong, "
        "and nothing else is"
    )


def test_another_padding_value_is_named():
    info = asc.NdDmaLoopInfo((1,), (1,), (8,), (3,), (5,))
    src, before = np.arange(8, dtype="int32"), np.full(32, 9, "int32")
    asked = asc.NdDmaParams(info, 7)
    after = np.asarray(asc.data_copy(src, asc.NdDmaParams(info, 11), dst=before))
    found = asc.diagnose(src, before, after, "nddma", asked, "int32_t")
    assert found.best.said == "the padding value had the bits 0xb"
    assert found.best.params.constant_value.value == 11


def two_calls(*fields, order=(0, 1)):
    """The claims of two calls, and the diagnosis of a dump of what `fields` left."""
    claimed = [
        {"repeatTimes": 1},
        {"repeatTimes": 2, "startIndex": 3},
    ]
    before = np.full(1024, 7, "uint16")
    really = [fields[k] if k < len(fields) else claimed[k] for k in range(2)]
    left = before
    for k in order:
        params = asc.LoadData2DParams.from_fields(really[k])
        at = k * 128
        left = asc.load_data(SRC, params, dst=left, dst_offset=at, dtype="uint16_t")
    type = asc.ascend_type("half")
    claims = [
        Claim(asc.Call(asc.LoadData2DParams.from_fields(x), dst_offset=k * 128), type)
        for k, x in enumerate(claimed)
    ]
    dump = Dump(SRC, before, np.asarray(left))
    return of_calls(dump, claims, None, None, "error")


@pytest.mark.parametrize(
    ("fields", "order", "text"),
    [
        ([], (0, 1), None),
        ([{"repeatTimes": 1, "startIndex": 1}], (0, 1), "in call 0 start_index were 1"),
        (
            [{"repeatTimes": 1}, {"repeatTimes": 2, "startIndex": 3, "dstGap": 1}],
            (0, 1),
            "in call 1 dst_gap were 1 (claimed 0)",
        ),
        ([], (0,), "call 1 were left out"),
        ([], (1, 0), "call 1 came before call 0"),
    ],
)
def test_several_calls_are_varied_one_by_one(fields, order, text):
    found = two_calls(*fields, order=order)
    if text is None:
        assert found.matches
    else:
        assert found.best.said.startswith(text)
        assert len(found.claims) == 2


# --- the command


def written(folder, **fields):
    """A case file with a dump of what really ran, and one that matches."""
    cases = []
    for name, really in (("wrong", fields), ("right", {})):
        before, after = ran(**really)
        np.savez(folder / f"{name}.npz", src=SRC, dst_before=before, dst_after=after)
        site = {"product": "atlas_a2", "path": "A1->A2", "dtype": "half"}
        case = {"id": name, "instruction": "load2d", "fields": FIELDS, **site}
        cases.append({**case, "dump": f"{name}.npz"})
    file = folder / "dumps.json"
    file.write_text(json.dumps(cases))
    return str(file)


def test_the_command_explains_each_dump(tmp_path, capsys):
    file = written(tmp_path, dstGap=1)
    assert cli.main(["diagnose", file]) == 1
    out = capsys.readouterr().out
    assert "1. matches exactly if dst_gap were 1 (claimed 0)" in out
    assert "right: load2d: the claimed call explains all 2048 elements." in out
    assert cli.main(["diagnose", file, "--case", "right", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] is True


def test_the_command_refuses_what_it_cannot_explain(tmp_path, capsys):
    file = written(tmp_path)
    assert cli.main(["diagnose", file, "--case", "none"]) == 2
    assert "has no dump 'none'" in capsys.readouterr().err
    (tmp_path / "right.npz").unlink()
    assert cli.main(["diagnose", file, "--case", "right"]) == 2
    assert "right.npz:src: the buffer must be there" in capsys.readouterr().err


def test_a_dump_at_fault_does_not_keep_the_others_from_being_told(tmp_path, capsys):
    file = written(tmp_path, dstGap=1)
    (tmp_path / "wrong.npz").write_bytes(b"no archive")
    assert cli.main(["diagnose", file]) == 2
    told = capsys.readouterr()
    assert f"{file}, wrong: " in told.err
    assert "right: load2d: the claimed call explains all 2048 elements." in told.out
