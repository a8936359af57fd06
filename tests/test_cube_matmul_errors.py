"""What `nn.CubeMatmul` refuses, and how it says so."""

import jax.numpy as jnp
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

ND2NZ = asc.Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0)
ROAD = [(ND2NZ, "GM->A1"), (asc.LoadData2DParams(0, 1, 1), "A1->A2")]
FLIP = asc.LoadData2DParams(0, 1, 1, if_transpose=True)
SQUARE = (16, 16, 16)

CASES = {
    "L0A": (
        ((512, 512, 512), {}),
        asc.BoundsError,
        r"L0A must hold at most 65536 bytes, what atlas_a2 has, got 524288 bytes for "
        r"512 x 512 of A \(in whole fractals of half\)\. Pass tile=\(128, 128, 256\), "
        "which fits",
    ),
    "L0B": (
        ((128, 256, 256), {}),
        asc.BoundsError,
        "L0B must hold at most 65536 bytes, what atlas_a2 has, got 131072 bytes for "
        "256 x 256 of B",
    ),
    "L0C": (
        ((256, 256, 64), {}),
        asc.BoundsError,
        "L0C must hold at most 131072 bytes, what atlas_a2 has, got 262144 bytes for "
        "256 x 256 of C, 4 bytes each",
    ),
    "tile": (
        ((512, 512, 512), {"tile": (128, 256, 256)}),
        asc.BoundsError,
        r"L0B must .* Pass tile=\(128, 128, 256\) or less, which fits",
    ),
    "k": (
        ((16, 16, 4096), {"dtype": "int8_t", "transpose_b": True}),
        asc.BoundsError,
        r"k must be at most 4095 in one Mmad, got 4096\. Pass tile=\(16, 16, 2048\)",
    ),
    "product": (
        (SQUARE, {"product": "atlas_training"}),
        asc.SupportError,
        "product must be one of atlas_a2, atlas_a3, atlas_350, got atlas_training",
    ),
    "type": (
        (SQUARE, {"dtype": "fp8_e5m2_t"}),
        asc.SupportError,
        r"dtype must be one that atlas_a2 brings to L0 and multiplies \(int4b_t, "
        r"int8_t, half, bfloat16_t, float\), got fp8_e5m2_t",
    ),
    "type to L1": (
        (SQUARE, {"product": "atlas_350", "dtype": "int4b_t"}),
        asc.SupportError,
        r"dtype must be one that atlas_350 brings to L0 and multiplies \(int8_t, half, "
        r"bfloat16_t, float, fp8_e4m3fn_t, fp8_e5m2_t\), got int4b_t, which has no "
        "move to L1 as NZ",
    ),
    "a tile where transpose_a stands": (
        (SQUARE, {"transpose_a": (16, 16, 16)}),
        asc.ParamError,
        r"transpose_a must be in \[0, 1\] \(a flag\), got \(16, 16, 16\)",
    ),
    "road of another product": (
        (
            SQUARE,
            {"a_road": asc.nn.Pipeline(ROAD, product="atlas_a3", dtype="half")},
        ),
        asc.ParamError,
        "a_road must be made for atlas_a2, as the product is, got atlas_a3",
    ),
    "road of another type": (
        (
            SQUARE,
            {"a_road": asc.nn.Pipeline(ROAD, product="910B", dtype="bfloat16_t")},
        ),
        asc.ParamError,
        "a_road must be made for half, as the product is, got bfloat16_t",
    ),
    "transpose": (
        (SQUARE, {"dtype": "int4b_t", "transpose_a": True}),
        asc.SupportError,
        "transpose_a must be False for int4b_t on atlas_a2, which has no load to L0A "
        r"that transposes it, got True\. Hold \[m, k\] in GM",
    ),
    "empty": (
        ((0, 16, 16), {}),
        asc.ParamError,
        r"m must be an integer of at least 1 \(elements\), got 0",
    ),
    "no integer": (((16, 1.5, 16), {}), asc.ParamError, "n must be an integer .* 1.5"),
    "two sizes": (
        (SQUARE, {"tile": (1, 2)}),
        asc.ParamError,
        r"tile must be \(bm, bn, bk\), one tile in elements, got \(1, 2\)",
    ),
    **{
        f"a tile without {name}": (
            (SQUARE, {"tile": tuple(0 if k == at else 8 for k in range(3))}),
            asc.ParamError,
            f"{name} of tile must be an integer of at least 1 .* got 0.*a positive s",
        )
        for at, name in enumerate(("bm", "bn", "bk"))
    },
    "half a byte": (
        (SQUARE, {"dtype": "int4b_t", "tile": (16, 5, 16)}),
        asc.ParamError,
        "tile must be even in n for int4b_t: two elements of B share a byte in GM",
    ),
    "lands elsewhere": (
        (SQUARE, {"a_road": [ROAD[0], (FLIP, "A1->A2")]}),
        asc.ParamError,
        r"a_road must bring all of A to L0A in the order that Mmad reads on atlas_a2, "
        r"ZZ of \[m, k\], got GM element 16 in L0A element 1, the place of row 0, k 1: "
        "GM element 1",
    ),
    "lands in part": (
        ((32, 16, 16), {"a_road": ROAD}),
        asc.ParamError,
        "a_road must .* got nothing in L0A element 256, the place of row 16, k 0",
    ),
    "half a road": (
        (SQUARE, {"a_road": ROAD[:1]}),
        asc.ParamError,
        "a_road must go from GM to L0A, got GM -> L1",
    ),
    "the other's road": (
        (SQUARE, {"b_road": ROAD}),
        asc.ParamError,
        "b_road must go from GM to L0B, got GM -> L1 -> L0A",
    ),
    "no road": (
        (SQUARE, {"a_road": 3}),
        asc.ParamError,
        "a_road must be a Pipeline or its stages, got int",
    ),
    "a road and tiles": (
        ((32, 16, 16), {"a_road": ROAD, "tile": SQUARE}),
        asc.ParamError,
        "a_road must be left out for a product of several tiles",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_that_cannot_run_is_refused_when_it_is_made(name):
    (sizes, options), error, text = CASES[name]
    options = {"product": "910B", "dtype": "half", **options}
    product, dtype = options.pop("product"), options.pop("dtype")
    with pytest.raises(error, match=f"CubeMatmul: {text}"):
        asc.nn.CubeMatmul(product, *sizes, dtype, **options)


def test_a_tile_that_an_error_names_is_taken():
    for sizes in ((512, 512, 512), (256, 256, 64), (4000, 16, 16), (16, 3000, 4000)):
        for dtype in ("int8_t", "half", "float"):
            try:
                mm = asc.nn.CubeMatmul("910B", *sizes, dtype)
            except asc.BoundsError as error:
                named = error.fix.split("(")[1].split(")")[0]
                tile = tuple(map(int, named.split(",")))
                mm = asc.nn.CubeMatmul("910B", *sizes, dtype, tile=tile)
                assert mm.job.tile == tile


def test_roads_of_the_user_s_share_l1_and_fit_l0c():
    """8 bits, 2048 rows of one block each: L0 is full, L0C far too small."""
    rows = 2048
    nd2nz = asc.Nd2NzParams(1, rows, 32, 0, 32, rows, 1, 0)
    load = asc.LoadData2DParams(0, rows // 16, 1)
    sides = {
        f"{s.lower()}_road": [(nd2nz, f"GM->{s}1"), (load, f"{s}1->{s}2")] for s in "AB"
    }
    text = "L0C must hold at most 131072 bytes, .* got 16777216 bytes for 2048 x 2048"
    with pytest.raises(asc.BoundsError, match=text):
        asc.nn.CubeMatmul("910B", rows, rows, 32, "int8_t", False, True, **sides)
    far = [(asc.Call(nd2nz, 0, 7 * 65536), "GM->A1")]
    far += [(asc.Call(load, 7 * 65536), "A1->A2")]
    text = "Pipeline: L1 must fit L1 of atlas_a2, 524288 bytes"
    with pytest.raises(asc.BoundsError, match=text):
        asc.nn.CubeMatmul(
            "910B", rows, rows, 32, "int8_t", False, True, **{**sides, "a_road": far}
        )


MM = asc.nn.CubeMatmul("910B", 16, 8, 4, "half")


@pytest.mark.parametrize(
    ("shapes", "error", "text"),
    [
        (((16, 5), (4, 8)), asc.BoundsError, r"a must be \(16, 4\) in its last axes"),
        (
            ((16, 4), (8, 4)),
            asc.BoundsError,
            r"b must be \(4, 8\) .* as GM holds B with transpose_b=False",
        ),
        (((64,), (4, 8)), asc.BoundsError, r"a must be \(16, 4\) .* got \(64,\)"),
        (
            ((2, 16, 4), (3, 4, 8)),
            asc.ParamError,
            r"b must have leading axes that broadcast with those of a, got \(3,\)",
        ),
    ],
)
def test_operands_of_another_shape_are_refused(shapes, error, text):
    with pytest.raises(error, match=f"CubeMatmul: {text}"):
        MM(*(jnp.zeros(shape, "float16") for shape in shapes))


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("held", ["float32", "bfloat16", "int8"])
def test_an_operand_of_another_type_is_refused_by_its_name(name, held):
    given = {"a": jnp.zeros((16, 4), "float16"), "b": jnp.zeros((4, 8), "float16")}
    given[name] = given[name].astype(held)
    text = (
        rf"CubeMatmul: {name} must hold half: an array of float16, .* of {held}\. Con"
    )
    with pytest.raises(asc.ParamError, match=text):
        MM(**given)
