"""What a call refuses where it runs: support, alignment, bounds, and NOPs."""

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import ONE, check_refused, info, move

import ascjax as asc

# --- support


@pytest.mark.parametrize(
    "params, site, text",
    [
        (
            ONE,
            {"product": "atlas_inference_vector"},
            "load2d: product must be one that has this instruction (atlas_350, "
            "atlas_a3, atlas_a2, atlas_200i_500_a2, atlas_inference_aicore, "
            "atlas_training, kirin_x90, kirin_9030), got atlas_inference_vector. ",
        ),
        (
            asc.LoadData2DParamsV2(0, 0, 1, 1),
            {"product": "910B"},
            "load2dv2: product must be one that has this instruction (atlas_350), got "
            "atlas_a2. ",
        ),
        (
            asc.LoadData2dTransposeParams(0, 1),
            {"product": "atlas_training"},
            "ldwt_v1: product must be one that has this instruction (atlas_350, "
            "atlas_a3, atlas_a2, atlas_200i_500_a2, kirin_x90), got atlas_training. ",
        ),
        (
            asc.LoadData2dTransposeParamsV2(0, 1),
            {"product": "kirin_x90"},
            "ldwt_v2: product must be one that has this instruction (atlas_350), got "
            "kirin_x90. ",
        ),
        (
            asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0),
            {"product": "310B"},
            "nz2nd: product must be one that has this instruction (atlas_350, "
            "atlas_a3, atlas_a2, atlas_inference_aicore), got atlas_200i_500_a2. ",
        ),
        (
            asc.NdDmaParams(info((1, 1, 1))),
            {"product": "atlas_a3"},
            "nddma: product must be one that has this instruction (atlas_350), got "
            "atlas_a3. ",
        ),
        (
            ONE,
            {"product": "950PR", "path": "GM->A2"},
            "load2d: path must be one that atlas_350 has (GM->A1, GM->B1, A1->A2, "
            "B1->B2), got GM->A2. ",
        ),
        (
            asc.LoadData2dTransposeParams(0, 1),
            {"product": 3510, "path": "L1->L0A"},
            "ldwt_v1: path must be one that atlas_350 has (B1->B2), got A1->A2. ",
        ),
        (
            asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0),
            {"product": "910B", "path": "CO2->GM"},
            "nz2nd: path must be one that atlas_a2 has (VECOUT->GM), got CO2->GM. ",
        ),
        (
            ONE,
            {"product": "kirin_9030", "path": "A1->A2", "dtype": "int8_t"},
            "load2d: dtype must be one that kirin_9030 on A1->A2 moves (half), got "
            "int8_t. ",
        ),
        (
            ONE,
            {"product": "kirin_x90", "dtype": "float"},
            "load2d: dtype must be one that kirin_x90 moves (int8_t, half), got float. "
            "",
        ),
        (
            ONE,
            {"product": "910B", "path": "GM->L1", "dtype": "int4b_t"},
            "load2d: dtype must be one that atlas_a2 on GM->A1 moves (uint8_t, int8_t, "
            "",
        ),
        (
            ONE,
            {"path": "VECOUT->GM"},
            "load2d: path must be one of GM->A1, GM->B1, A1->A2, B1->B2, GM->A2, "
            "GM->B2, got 'VECOUT->GM'. Positions are A1 or B1 (L1), A2 (L0A), B2 "
            "(L0B), VECIN or VECOUT (UB), GM. [Load2D, Table 3]",
        ),
        (ONE, {"path": "A1"}, "load2d: path must be one of GM->A1, "),
        (ONE, {"path": "A1->A9"}, "load2d: path must be one of GM->A1, "),
        (ONE, {"path": "A1->A2->B2"}, "load2d: path must be one of GM->A1, "),
        (ONE, {"path": ""}, "load2d: path must be one of GM->A1, "),
        (
            ONE,
            {"product": "atlas_900"},
            "load2d: product must be one of atlas_350, atlas_a3, atlas_a2, "
            "atlas_200i_500_a2, atlas_inference_aicore, atlas_inference_vector, "
            "atlas_training, kirin_x90, kirin_9030, got 'atlas_900'. ",
        ),
        (
            ONE,
            {"product": 2201},
            "load2d: product must be one of atlas_350, atlas_a3, atlas_a2, "
            "atlas_200i_500_a2, atlas_inference_aicore, atlas_inference_vector, "
            "atlas_training, kirin_x90, kirin_9030, got 2201, which atlas_a3 and "
            "atlas_a2 share. Use a key from the list, or an alias: Ascend 950PR, ",
        ),
        (
            ONE,
            {"behaviour": "as_built"},
            "load2d: behaviour must be 'documented', got 'as_built'. ",
        ),
    ],
)
def test_what_a_product_lacks_is_refused(params, site, text):
    site = {"dtype": "half", **site}
    check_refused(asc.SupportError, text, move, params, **site)


def test_without_a_product_support_is_not_checked():
    assert move(ONE, "fp8_e5m2_t").type.name == "fp8_e5m2_t"
    assert move(asc.NdDmaParams(info((1, 1, 1))), "hifloat8_t").product is None


@pytest.mark.parametrize(
    "params, dtype, widths",
    [
        (ONE, "double", "4, 8, 16, 32"),
        (asc.LoadData2DParamsV2(0, 0, 1, 1), "int64_t", "4, 8, 16, 32"),
        (asc.LoadData2dTransposeParams(0, 1), "complex64", "4, 8, 16, 32"),
        (asc.LoadData2dTransposeParamsV2(0, 1), "double", "4, 8, 16, 32"),
        (asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0), "int4b_t", "8, 16, 32, 64"),
        (asc.NdDmaParams(info((1, 1, 1))), "fp4x2_e1m2_t", "8, 16, 32, 64"),
    ],
)
def test_a_width_that_is_moved_nowhere_is_refused_everywhere(params, dtype, widths):
    bits = asc.ascend_type(dtype).bits
    check_refused(
        asc.ParamError,
        f"{params.instruction}: dtype must be {widths} bits wide, got {dtype} ({bits} "
        f"bits). Move it as elements of another width. [{params.source}]",
        move,
        params,
        dtype,
    )


# --- alignment

NZ = asc.Nz2NdParamsFull(1, 1, 16, 0, 0, 0, 0)
PAD = asc.NdDmaParams(info((1, 1, 1)))
V2 = asc.LoadData2DParamsV2(0, 0, 1, 1)
SQUARE = asc.LoadData2dTransposeParams(0, 1)
ALIGNED = [
    # params, path, type, field, bytes, position, elements of the least legal start
    (ONE, "GM->A1", "half", "dst_offset", 32, "A1 (L1)", 16),
    (ONE, "GM->B1", "int8_t", "dst_offset", 32, "B1 (L1)", 32),
    (ONE, "GM->A2", "half", "dst_offset", 512, "A2 (L0A)", 256),
    (ONE, "GM->B2", "float", "dst_offset", 512, "B2 (L0B)", 128),
    (ONE, "A1->A2", "half", "src_offset", 32, "A1 (L1)", 16),
    (ONE, "B1->B2", "float", "src_offset", 32, "B1 (L1)", 8),
    (ONE, "A1->A2", "int4b_t", "src_offset", 32, "A1 (L1)", 64),
    (ONE, "A1->A2", "int4b_t", "dst_offset", 512, "A2 (L0A)", 1024),
    (V2, "GM->A1", "half", "dst_offset", 32, "A1 (L1)", 16),
    (V2, "GM->A1", "fp4x2_e2m1_t", "src_offset", 1, "GM", 2),
    (V2, "GM->B1", "fp4x2_e2m1_t", "dst_offset", 32, "B1 (L1)", 64),
    (V2, "B1->B2", "int8_t", "dst_offset", 512, "B2 (L0B)", 512),
    (SQUARE, "B1->B2", "float", "src_offset", 32, "B1 (L1)", 8),
    (SQUARE, "A1->A2", "half", "dst_offset", 512, "A2 (L0A)", 256),
    (NZ, "VECOUT->GM", "half", "src_offset", 32, "VECOUT (UB)", 16),
    (NZ, "CO2->GM", "float", "src_offset", 32, "CO2 (UB)", 8),
    (NZ, "VECOUT->GM", "double", "src_offset", 32, "VECOUT (UB)", 4),
    (PAD, "GM->VECIN", "half", "dst_offset", 32, "VECIN (UB)", 16),
    (PAD, "GM->VECIN", "uint8_t", "dst_offset", 32, "VECIN (UB)", 32),
]
NOPS = {
    ONE: asc.LoadData2DParams(),
    V2: asc.LoadData2DParamsV2(k_step=3),
    SQUARE: asc.LoadData2dTransposeParams(),
    NZ: asc.Nz2NdParamsFull(0, 1, 16, 0, 0, 0, 0),
    PAD: asc.NdDmaParams(info((0, 1, 1))),
}


@pytest.mark.parametrize("nop", [False, True], ids=["", "NOP"])
@pytest.mark.parametrize("params, path, dtype, field, least, position, step", ALIGNED)
def test_an_operand_starts_on_its_boundary(
    params, path, dtype, field, least, position, step, nop
):
    params = NOPS[params] if nop else params
    bits = asc.ascend_type(dtype).bits
    for offset in (step // 2, step + 1, 3 * step - 1):
        unit = "a whole byte" if least == 1 else f"a multiple of {least} bytes"
        error = check_refused(
            asc.AlignmentError,
            f"{params.instruction}: {field} must start on {unit} "
            f"in {position}: {step} elements of {dtype}, got {offset} elements, "
            f"{offset * bits / 8:g} bytes. ",
            move,
            params,
            dtype,
            path=path,
            **{field: offset},
        )
        assert error.source == "General Address Alignment Restrictions"
    move(params, dtype, path=path, **{field: 3 * step})
    move(params, dtype, **{field: step + 1})  # no path: no alignment


def test_global_memory_needs_whole_bytes_only():
    odd = move(ONE, path="GM->A1", src_offset=1, dtype="half")
    assert odd.nests[0].src_start == 1
    odd = move(NZ, path="VECOUT->GM", dst_offset=3, dtype="int8_t")
    assert odd.nests[0].dst_start == 3
    odd = move(PAD, path="GM->VECIN", src_offset=5, dtype="uint8_t")
    assert odd.calls[0].src_offset == 5


# --- bounds


@pytest.mark.parametrize(
    "params, site, text",
    [
        (
            ONE,
            {"src_size": 255},
            "load2d: src must hold elements [0, 256), which the move reads, got 255 "
            "elements of half, [0, 255). Give a longer src, or correct the counts, "
            "strides and offsets. [Load2D, Table 3]",
        ),
        (
            asc.LoadData2DParams(2, 2, 3),
            {"src_size": 1535, "src_offset": 16},
            "load2d: src must hold elements [0, 1552), which the move reads, got 1535 "
            "elements",
        ),
        (
            asc.LoadData2DParams(2, 2, 3, addr_mode=1),
            {"src_size": 9999},
            "load2d: src must hold elements [-256, 768), which the move reads, got "
            "9999 elements",
        ),
        (
            asc.LoadData2DParams(0, 3, 0, 0, 1),
            {"dst_size": 1279, "dst_offset": 256},
            "load2d: dst must hold elements [0, 1536), which the move writes, got 1279 "
            "elements",
        ),
        (
            asc.LoadData2DParamsV2(0, 1, 1, 2, -3, 1),
            {"src_size": 1023},
            "load2dv2: src must hold elements [0, 1024), which the move reads",
        ),
        (
            asc.LoadData2DParamsV2(2**32 - 1, 2**32 - 1, 1, 1, -(2**31)),
            {},
            "load2dv2: src must hold elements [0, "
            f"{((2**32 - 1) * 2**31 + 2**32) * 256}), which the move reads",
        ),
        (
            SQUARE,
            {"dtype": "int8_t", "src_size": 1023},
            "ldwt_v1: src must hold elements [0, 1024), which the move reads",
        ),
        (
            asc.LoadData2dTransposeParamsV2(1, 1, 0, 0, 0, 2),
            {"dtype": "float", "src_size": 639},
            "ldwt_v2: src must hold elements [0, 640), which the move reads",
        ),
        (
            asc.Nz2NdParamsFull(2, 3, 32, 4, 5, 100, 40),
            {"dst_size": 271},
            "nz2nd: dst must hold elements [0, 272), which the move writes",
        ),
        (
            asc.NdDmaParams(info((4, 3, 2), lp=(1,), rp=(1,))),
            {"src_size": 9},
            "nddma: src must hold elements [0, 10), which the move reads",
        ),
        (
            asc.NdDmaParams(info((4, 3, 2), lp=(1,), rp=(1,))),
            {"dst_size": 10},
            "nddma: dst must hold elements [0, 11), which the move writes",
        ),
        (
            ONE,
            {"src_offset": -16},
            "load2d: src_offset must be at least 0 (elements), got -16. ",
        ),
        (
            ONE,
            {"dst_offset": -256},
            "load2d: dst_offset must be at least 0 (elements), got -256. ",
        ),
    ],
)
def test_a_move_stays_inside_its_buffers(params, site, text):
    check_refused(asc.BoundsError, text, move, params, **site)


@pytest.mark.parametrize("params", NOPS.values(), ids=lambda p: p.instruction)
def test_a_nop_is_checked_for_neither_bounds_nor_overlap(params):
    assert move(params, src_size=0, dst_size=0).nest.volume == 0
    assert move(params, src_size=0, dst_offset=512, dst_size=3).dst_size == 3
    same = jnp.arange(5, dtype="float16")
    op = getattr(asc, params.op)
    np.testing.assert_array_equal(op(jnp.zeros(0, "float16"), params, dst=same), same)


def test_a_nop_is_checked_for_ranges_and_support():
    with pytest.raises(asc.ParamError, match="src_stride must be in"):
        asc.LoadData2DParams(0, 0, 65536)
    with pytest.raises(asc.SupportError, match="path must be one that atlas_350 has"):
        move(asc.LoadData2DParams(), path="GM->A2", product=3510)
    with pytest.raises(asc.SupportError, match="dtype must be one that atlas_a2"):
        move(NOPS[NZ], "int8_t", product="atlas_a2")
    overlapping = asc.NdDmaLoopInfo((1, 1), (4, 5), (9, 0))
    move(asc.NdDmaParams(overlapping), src_size=0)


@pytest.mark.parametrize(
    "info, config",
    [
        (asc.NdDmaLoopInfo((1,), (1,), (0,), (3,), (3,)), asc.NdDmaConfig()),
        (asc.NdDmaLoopInfo((1,), (1,), (0,)), asc.NdDmaConfig(True, 9, 9)),
    ],
)
def test_nddma_without_elements_writes_no_padding(info, config):
    assert move(asc.NdDmaParams(info, 0, config), src_size=0).dst_size == 0
