"""A road of moves along named buffers: one plan, stage by stage, or traced."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import bits, check_same, patterns
from refusals import check_refused

import ascjax as asc
from ascjax._gather import Gather

pytestmark = pytest.mark.quick

ND2NZ = asc.Nd2NzParams(1, 40, 48, 0, 48, 48, 1, 0)  # 40 x 48 to three columns of C0
TO_L0A = [
    (asc.LoadData2DParams(0, 3, 3), i * 256, i * 768) for i in range(3)
]  # rows of fractals


def road(**options):
    """A's side of a matmul on atlas_a2: 40 x 48 half, NZ in L1, ZZ in L0A."""
    stages = [(ND2NZ, "GM->A1"), (TO_L0A, "A1->A2")]
    return asc.nn.Pipeline(stages, product="910B", dtype="half", **options)


def test_a_road_brings_a_matrix_to_l0a():
    x = patterns(0, (40, 48), "float16")
    want = asc.Layout("ZZ", (40, 48), "half").pack(x)
    got = road(sizes=(None, 48 * 48, None))(x.reshape(-1))
    check_same(got, want)


def test_names_and_least_sizes_come_from_the_stages():
    made = road()
    assert made.buffers == ("GM", "L1", "L0A")
    assert made.sizes == (40 * 48, 48 * 48, 48 * 48)
    assert [move.path for move in made.moves] == ["GM->A1", "A1->A2"]
    assert "stages" not in repr(made) and "moves" not in repr(made)


def test_fused_is_one_plan_and_means_the_same():
    made, x = road(), patterns(1, (2, 40 * 48), "float16")
    dst = patterns(2, (2, 48 * 48), "float16")
    check_same(made(x), made(x, fused=False))
    check_same(made(x, dst), made(x, dst, fused=False))


def test_rows_that_fill_fractals_need_no_index():
    full = asc.Nd2NzParams(1, 48, 48, 0, 48, 48, 1, 0)
    for nd2nz, indexed in ((full, False), (ND2NZ, True)):  # 40 rows leave zeros to read
        stages = [(nd2nz, "GM->A1"), (TO_L0A, "A1->A2")]
        plan = asc.nn.Pipeline(stages, product="910B", dtype="half").joined.plan
        assert any(isinstance(step, Gather) for step in plan.steps) == indexed


def test_a_trace_marks_what_no_stage_wrote():
    gm, l1, l0a = road().trace(np.arange(40 * 48).astype("float16"))
    assert (gm.buffer, l1.buffer, l0a.buffer) == ("GM", "L1", "L0A")
    assert gm.written.all() and gm.values.shape == (40 * 48,)
    rows = l1.written.reshape(3, 48, 16)
    assert rows[:, :40].all() and not rows[:, 40:].any()
    assert l0a.written.all() and l0a.values.shape == l0a.written.shape
    check_same(l0a.values, road()(gm.values))


def test_packed_types_meet_in_bytes_and_elements():
    to_l1 = asc.Nd2NzParams(1, 16, 64, 0, 64, 16, 1, 0)  # 16 x 128 elements
    made = asc.nn.Pipeline(
        [(to_l1, "GM->A1"), (asc.LoadData2DParams(0, 2, 1), "A1->A2")],
        product="910B",
        dtype="int4b_t",
    )
    assert made.sizes == (2048, 2048, 2048)
    x = patterns(3, (1024,), "uint8")
    check_same(made(x), made(x, fused=False))
    want = asc.Layout("ZZ", (16, 128), "int4b_t").pack(x.reshape(16, 64))
    check_same(made(x), want)
    assert [held.written.size for held in made.trace(x)] == [2048] * 3


def test_it_works_under_every_transform():
    made = road()
    x = np.random.default_rng(0).standard_normal((3, 40 * 48)).astype("float16")
    plain = made(x)
    check_same(jax.jit(made)(x), plain)
    check_same(jax.vmap(made)(x), plain)
    weight = jnp.arange(48.0 * 48).astype("float16")
    loss = lambda fused: lambda x: (made(x, fused=fused) * weight).sum()  # noqa: E731
    fused, apart = (jax.grad(loss(each))(x[0]) for each in (True, False))
    check_same(fused, apart)
    assert bits(fused).any()


def test_it_is_written_down_and_read_back():
    made = road(sizes=(2000, 4096, None))
    again = asc.nn.Pipeline.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made and again.sizes == (2000, 4096, 48 * 48)


def test_the_least_that_does_not_fit_goes_red():
    full = asc.LoadData2DParams(0, 128, 1)  # 64 KiB
    fits = asc.nn.Pipeline([(full, "A1->A2")], product="910B", dtype="half")
    assert fits.sizes == (32768, 32768)
    check_refused(
        asc.BoundsError,
        "Pipeline: L0A must fit L0A of atlas_a2, 65536 bytes: 32768 elements of half, "
        "got 33024 elements. Move a smaller tile",
        asc.nn.Pipeline,
        [(asc.LoadData2DParams(0, 129, 1), "A1->A2")],
        product="910B",
        dtype="half",
    )


@pytest.mark.parametrize(
    "kind, text, stages, options",
    [
        (asc.ParamError, "Pipeline: stages must hold a stage, got none", [], {}),
        (
            asc.ParamError,
            "Pipeline: stages[0] must be (calls, path), got ",
            [ND2NZ],
            {},
        ),
        (
            asc.ParamError,
            "Pipeline: calls must hold at least one call, got none",
            [([], "GM->A1")],
            {},
        ),
        (
            asc.ParamError,
            "Pipeline: stages[1] must read L1, where the stage before writes, got "
            "VECOUT->GM, which reads UB",
            [
                (ND2NZ, "GM->A1"),
                (asc.Nz2NdParamsFull(1, 16, 16, 1, 16, 16, 1), "VECOUT->GM"),
            ],
            {},
        ),
        (
            asc.ParamError,
            "Pipeline: sizes must have one size for each of GM, L1, got [1]",
            [(ND2NZ, "GM->A1")],
            {"sizes": [1]},
        ),
        (
            asc.BoundsError,
            "Pipeline: sizes[1] must be at least 2176 (elements), what the stages reach"
            " in L1, got 100",
            [(ND2NZ, "GM->A1")],
            {"sizes": [None, 100]},
        ),
        (
            asc.BoundsError,
            "Pipeline: L1 must fit L1 of atlas_a2, 524288 bytes: 262144 elements of "
            "half, got 300000 elements",
            [(ND2NZ, "GM->A1")],
            {"sizes": [None, 300000]},
        ),
        (
            asc.SupportError,
            "Pipeline, stages[0] (nd2nz, GM->A1): product must be one that has th",
            [(ND2NZ, "GM->A1")],
            {"product": "atlas_training"},
        ),
    ],
)
def test_what_makes_no_road_is_refused(kind, text, stages, options):
    options = {"product": "910B", "dtype": "half", **options}
    check_refused(kind, text, asc.nn.Pipeline, stages, **options)


def test_a_source_of_another_size_is_refused():
    text = (
        "Pipeline, stages[0] (nd2nz, GM -> L1): src must hold 1920 (elements) in its "
    )
    text += "last axis, got 7"
    check_refused(asc.BoundsError, text, road(), jnp.zeros(7, "float16"))
    check_refused(asc.BoundsError, text, road().trace, jnp.zeros(7, "float16"))
