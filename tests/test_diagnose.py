"""`asc.diagnose`: planted faults of many kinds, and what it says of them."""

import dataclasses
import json

import numpy as np
import pytest

import ascjax as asc
from ascjax import cli, diagnosis
from ascjax.sweeps._bits import word
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations

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


# --- planted faults, over all instructions


def numbers(params):
    """The integer fields of params, not of structs inside."""
    return [f.name for f in dataclasses.fields(params) if "range" in f.metadata]


def planted(kind, params, rng):
    """Params that really ran, in place of the claimed ones; None where it cannot be."""
    names = numbers(params)
    wanted = {
        "gap off by one": ("gap", 1),
        "stride off by one": ("stride", 1),
        "stride one less": ("stride", -1),
        "count one less": ("repeat_times|value|count|times", -1),
        "count one more": ("repeat_times|value|count|times", 1),
        "start off by one": ("start|index|position", 1),
    }
    if kind in wanted:
        words, step = wanted[kind]
        fitting = [n for n in names if any(w in n for w in words.split("|"))]
        if not fitting:
            return None
        name = fitting[int(rng.integers(len(fitting)))]
        return dataclasses.replace(params, **{name: getattr(params, name) + step})
    if kind == "flag":
        flags = [f.name for f in dataclasses.fields(params) if f.metadata.get("flag")]
        if not flags:
            return None
        name = flags[int(rng.integers(len(flags)))]
        return dataclasses.replace(params, **{name: not getattr(params, name)})
    if len(names) < 2:
        return None
    a, b = rng.choice(names, 2, replace=False)  # swapped
    return dataclasses.replace(params, **{a: getattr(params, b), b: getattr(params, a)})


KINDS = (
    *("gap off by one", "stride off by one", "stride one less", "count one less"),
    *("count one more", "start off by one", "flag", "swap"),
    *("start of src", "stopped", "damaged", "nothing"),
)


def made_up(seed, count):
    """`count` faults of 12 kinds in turn: (kind, claimed, buffers, what really ran)."""
    rng = np.random.default_rng(seed)
    sites = [site for site in combinations() if site[0] not in ("fixpipe", "nd2nz")]
    found = 0
    while found < count:
        kind = KINDS[found % len(KINDS)]
        instruction, site = sites[int(rng.integers(len(sites)))]
        draw = lambda a, b: int(rng.integers(a, b + 1))  # noqa: E731
        made = sample(instruction, site, draw, nop=False)
        where = {"product": site.product, "path": site.path, "dtype": site.type}
        sizes = {
            "src_size": made.src_size + 2048,
            "dst_size": made.dst_size + 2048,
            "dst_offset": made.dst_offset,
        }
        start, params = made.src_offset, made.params
        try:
            claimed = asc.Move.of(params, src_offset=start, **sizes, **where)
            if not claimed.nests[0].volume:
                continue
            true, at = params, start
            if kind == "start of src":
                at += site.type.c0
            elif kind not in ("stopped", "damaged", "nothing"):
                true = planted(kind, params, rng)
            if true is None:
                continue
            move = asc.Move.of(true, src_offset=at, **sizes, **where)
        except asc.AscendError:
            continue
        src, before = (
            rng.integers(0, 2 ** min(site.type.bits, 62), size).astype(word(site.type))
            for size in (claimed.src_size, claimed.dst_size)
        )
        fills = [np.array(f % 2**64, "u8").astype(src.dtype)[()] for f in move.fills]
        after = move.index_map.apply(src, before, fill=fills)
        plain = claimed.index_map.apply(src, before, fill=fills)
        order = claimed.nests[0].addresses()[0]
        if kind == "stopped":
            keep = order[order.size // 3 :]
            after[keep] = before[keep]
        elif kind == "damaged":
            after[rng.choice(after.size, 2, replace=False)] ^= 1
        elif kind == "nothing":
            after = before.copy()
        if np.array_equal(after, plain):
            continue
        found += 1
        yield kind, claimed, (src, before, after), (true, at)


def first_is_right(kind, claimed, buffers, true):
    params, at = true
    src, before, after = buffers
    call = claimed.calls[0]
    raw = f"uint{claimed.type.bits}"
    if claimed.type.bits == 4:
        return None
    found = asc.diagnose(
        src.view(raw),
        before.view(raw),
        after.view(raw),
        call.params.instruction,
        call.params,
        claimed.type.name,
        claimed.product,
        claimed.path,
        call.src_offset,
        call.dst_offset,
    )
    if kind == "damaged":
        return found.best is None and "damaged" in found.explanations[0].said
    if found.best is None:
        return False
    if kind in ("stopped", "nothing"):
        words = {"stopped": "had stopped", "nothing": "nothing"}
        return words[kind] in found.best.said
    if kind == "start of src":
        return found.best.said.startswith(f"src_offset were {at} ")
    return found.best.params == params


@pytest.mark.long
def test_the_planted_cause_comes_first_in_nine_of_ten():
    judged, wrong = 0, []
    for kind, *rest in made_up(0, 48):
        right = first_is_right(kind, *rest)
        if right is not None:
            judged += 1
            wrong += [] if right else [kind]
    assert judged >= 40
    assert len(wrong) <= judged // 10, wrong


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
