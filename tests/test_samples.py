"""Samples: legal ones of every kind, and never an illegal one."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ascjax as asc
from ascjax import oracle
from ascjax.instr import REGISTRY, Params, Site, integer
from ascjax.verify._choices import lattice
from ascjax.verify._coverage import coverage
from ascjax.verify._samples import BUILDERS, sample
from ascjax.verify._suite import _sets, combinations

SITES = combinations()


WHOLE = ("dValue", "channelSize", "kStartPt")  # multiples of a column or of C0


def seeded(seed):
    rng = np.random.default_rng(seed)
    return lambda low, high: int(rng.integers(low, high + 1))


def check_legal(instruction, site, made, nest_of=None):
    """The engine takes it with every check on, and maps it as the oracle does."""
    move = made.move(site)
    want = oracle.run(
        instruction,
        made.params.to_fields(),
        site.type.bits,
        np.arange(made.src_size, dtype=np.int32),
        np.full(made.dst_size, -1, np.int32),
        src_offset=made.src_offset,
        dst_offset=made.dst_offset,
        pad=-2,
        product=site.product.key,
        path=site.path,
    )
    np.testing.assert_array_equal(move.index_map.index, want)


@pytest.mark.parametrize("instruction", sorted(REGISTRY))
@settings(max_examples=60)
@given(data=st.data())
def test_a_sample_is_legal(instruction, data):
    sites = [site for name, site in SITES if name == instruction]
    site = data.draw(st.sampled_from(sites))
    made = sample(instruction, site, lambda a, b: data.draw(st.integers(a, b)))
    check_legal(instruction, site, made)


def test_the_check_of_legality_goes_red():
    site = Site(asc.ATLAS_A2, "A1->A2", asc.ascend_type("half"))
    made = sample("load2d", site, seeded(3))
    assert made.params.repeat_times  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(asc.BoundsError, match="src must hold elements"):
        check_legal("load2d", site, dataclasses.replace(made, src_size=1))
    skewed = dataclasses.replace(made, src_offset=made.src_offset + 1)
    with pytest.raises(asc.AlignmentError, match="src_offset must start on"):
        check_legal("load2d", site, skewed)


def test_every_instruction_has_a_builder():
    assert set(BUILDERS) == set(REGISTRY)


def test_samples_reach_the_ends_of_the_fields():
    draw = seeded(0)
    few = [one for one in SITES if one[0] == "fixpipe"]  # of two combinations only
    sites = SITES * 5 + few * 40
    drawn = [(name, site, sample(name, site, draw)) for name, site in sites]
    found = coverage(
        (n, s.params.to_fields(), at.type.name, at.product, at.path)
        for n, at, s in drawn
    )
    made = [(name, s) for name, _, s in drawn]
    for name, entry in found.items():
        kinds = entry["kinds"]
        assert kinds["nop"] and kinds["gaps"], name
        for field, row in entry["fields"].items():
            if row["range"] and row["range"][1] <= 65535 and field not in WHOLE:
                assert row["odd"], (name, field)
            nonzero = (row["range"] or [0])[0] > 0 or field == "repeat.repeatTime"
            assert row["zero"] or nonzero, (name, field)
    assert all(found[n]["kinds"]["decreasing"] for n in ("load2d", "load2dv2"))
    assert all(found[n]["kinds"]["transpose"] for n in ("load2d", "load2dv2"))
    assert found["load2d"]["fields"]["dstGap"]["max"]
    assert found["load2d"]["fields"]["srcStride"]["max"]
    assert found["load2dv2"]["fields"]["srcStride"]["min"]
    nddma = [s.params for name, s in made if name == "nddma"]
    dims = {p.loop_info.dim for p in nddma}  # pyright: ignore
    assert dims == {1, 2, 3, 4, 5}
    strides = [p.loop_info.loop_dst_stride for p in nddma]  # pyright: ignore
    assert any(list(s) != sorted(s) for s in strides)
    assert {s.src_offset > 0 for _, s in made} == {True, False}
    assert max(s.dst_size for _, s in made) < 250_000


def test_lattice_strides_never_clash():
    for seed in range(300):
        draw = seeded(seed)
        n, m = draw(1, 9), draw(1, 5)
        a, b = lattice(draw, n, m, 3 * n * m)
        sums = {x * a + y * b for x in range(n) for y in range(m)}
        assert len(sums) == n * m, (n, m, a, b)


@pytest.fixture
def shuffle():
    """A made-up instruction whose count must be even."""

    class Shuffle(Params):
        instruction = "shuffle"
        op = "data_copy"
        source = "nowhere"
        support = {"atlas_a2": {"GM->VECIN": "half"}}
        count: int = integer(1, 100, "elements")

        def rules(self, site):
            if self.count % 2:
                raise asc.ParamError(
                    "shuffle", "count", "be even", self.count, "Add 1."
                )

        def nest(self, site):
            return asc.LoopNest.strided(0, 0, ("i", self.count, 1, 1))

    yield Shuffle
    del REGISTRY["shuffle"]


SITE = Site(asc.ATLAS_A2, "GM->VECIN", asc.ascend_type("half"))


def test_an_instruction_without_a_builder_gets_small_legal_values(shuffle):
    counts = {sample("shuffle", SITE, seeded(k)).params.count for k in range(40)}  # pyright: ignore
    assert counts == {2, 4, 6, 8}


def test_an_instruction_without_legal_values_says_so(shuffle, monkeypatch):
    def never(self, site):
        raise asc.ParamError("shuffle", "count", "be elsewhere", 0, "Give up.")

    monkeypatch.setattr(shuffle, "rules", never)
    with pytest.raises(asc.ParamError, match="have legal values among small ones"):
        sample("shuffle", SITE, seeded(0))


@pytest.fixture
def with_an_oracle(shuffle):
    @oracle.instruction("shuffle")
    def rule(fields, bits):
        i = np.arange(fields["count"])
        yield i, i

    yield shuffle
    del oracle.INSTRUCTIONS["shuffle"]


def refused_beside(made):
    """The class of error that the engine has for a sample."""
    with pytest.raises(asc.AscendError) as caught:
        check_legal("shuffle", SITE, made)
    return caught.type


def test_what_the_engine_alone_refuses_is_not_skipped(with_an_oracle, monkeypatch):
    check_legal("shuffle", SITE, sample("shuffle", SITE, seeded(0)))
    for start, stride, error in (
        ((5, 0), 1, asc.BoundsError),
        ((-1, 0), 1, asc.BoundsError),
        ((0, 90), 1, asc.BoundsError),
        ((0, 0), 0, asc.OverlapError),
    ):
        monkeypatch.setattr(
            with_an_oracle,
            "nest",
            lambda self, site, a=start, b=stride: asc.LoopNest.strided(
                *a, ("i", self.count, 1, b)
            ),
        )
        made = [sample("shuffle", SITE, seeded(k)) for k in range(20)]
        assert error in map(refused_beside, (m for m in made if m.src_size < 6))


def test_what_both_refuse_is_skipped(with_an_oracle, monkeypatch):
    """Above 4 elements, both write one element twice."""

    def rule(fields, bits):
        i = np.arange(fields["count"])
        yield i * (fields["count"] <= 4), i

    def nest(self, site):
        return asc.LoopNest.strided(0, 0, ("i", self.count, 1, int(self.count <= 4)))

    monkeypatch.setitem(oracle.INSTRUCTIONS, "shuffle", rule)
    monkeypatch.setattr(with_an_oracle, "nest", nest)
    made = [sample("shuffle", SITE, seeded(k)).params for k in range(30)]
    assert {p.count for p in made} == {2, 4}  # pyright: ignore


def test_an_overlap_rule_of_its_own_is_a_rule(with_an_oracle, monkeypatch):
    def check(self, site, nest):
        if self.count > 4:
            raise asc.OverlapError("shuffle", "dst", "be short", self.count, "Cut it.")
        Params.check_overlap(self, site, nest)

    monkeypatch.setattr(with_an_oracle, "check_overlap", check)
    made = [sample("shuffle", SITE, seeded(k)).params for k in range(30)]
    assert {p.count for p in made} == {2, 4}  # pyright: ignore


def test_nops_are_left_out_where_they_are_not_wanted(with_an_oracle, monkeypatch):
    def rule(fields, bits):
        i = np.arange(2 * (fields["count"] <= 2))
        yield i, i

    monkeypatch.setitem(oracle.INSTRUCTIONS, "shuffle", rule)
    monkeypatch.setattr(
        with_an_oracle,
        "nest",
        lambda self, site: asc.LoopNest.strided(
            0, 0, ("i", 2 * (self.count <= 2), 1, 1)
        ),
    )
    for nop, counts in ((False, {2}), (True, {2, 4, 6, 8})):
        made = [sample("shuffle", SITE, seeded(k), nop=nop).params for k in range(30)]
        assert {p.count for p in made} == counts  # pyright: ignore


@pytest.mark.parametrize("cases", [1, 6, 24, 27, 34, 100])
def test_enough_sets_are_no_nops(cases):
    sets = _sets("made up", cases)
    assert sets >= 24 and sets - sets // 8 >= cases
    assert _sets("load2d", cases) == cases
