"""Products, types and support are those of products.json, and have their aliases."""

import copy
import json
import pickle
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax._dtypes import TYPES, of_array
from ascjax._products import resolve_path
from ascjax.instr import params_class

SPEC = json.loads((Path(__file__).parents[1] / "docs/spec/products.json").read_text())
SUPPORTED = ("load2d", "load2dv2", "ldwt_v1", "ldwt_v2", "nz2nd", "nddma", "nd2nz")
PATHS = ("GM->A1", "GM->B1", "A1->A2", "B1->B2", "GM->A2", "GM->B2")


# --- products


def test_the_products_are_those_of_the_documents():
    assert list(asc.PRODUCTS) == list(SPEC["products"])


@pytest.mark.parametrize("key", SPEC["products"])
def test_a_product_is_as_documented(key):
    product, row = asc.PRODUCTS[key], SPEC["products"][key]
    assert product.key == key
    assert (product.name, list(product.also)) == (row["name"], row["also"])
    assert product.npu_arch == row["npu_arch"]
    assert dict(product.buffers_kib) == row["buffers_kib"]
    for name in ("l0a_format", "l0b_format", "l0c_format"):
        assert getattr(product, name) == row.get(name, getattr(product, name))
    assert getattr(asc, key.upper()) is product


@pytest.mark.parametrize("key", SPEC["products"])
def test_a_product_answers_to_its_names(key):
    row = SPEC["products"][key]
    names = [key, row["name"], *row["also"], key.upper(), f" {row['name'].lower()} "]
    names += [name.removeprefix("Ascend ") for name in row["also"]]
    for name in names:
        assert asc.product(name) is asc.PRODUCTS[key]
    assert asc.product(asc.PRODUCTS[key]) is asc.PRODUCTS[key]


ARCHITECTURES = sorted({row["npu_arch"] for row in SPEC["products"].values()})


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_an_architecture_names_a_product_where_only_one_has_it(arch):
    having = [k for k, r in SPEC["products"].items() if r["npu_arch"] == arch]
    if len(having) == 1:
        assert asc.product(arch) is asc.product(str(arch)) is asc.PRODUCTS[having[0]]
        return
    with pytest.raises(asc.SupportError, match=f"got {arch}, which {having[0]} and "):
        asc.product(arch)


def test_copies_of_a_product_are_the_product():
    for product in asc.PRODUCTS.values():
        assert pickle.loads(pickle.dumps(product)) is product
        assert copy.deepcopy(product) is product
        assert repr(product) == product.key


def test_a_product_is_read_only():
    with pytest.raises(TypeError, match="does not support item assignment"):
        asc.ATLAS_A2.buffers_kib["L1"] = 0


# --- support


@pytest.mark.parametrize("key", SPEC["products"])
@pytest.mark.parametrize("instruction", SUPPORTED)
def test_support_is_as_documented(instruction, key):
    documented = SPEC["instructions"][instruction].get(key, {})
    paths = params_class(instruction).paths(asc.PRODUCTS[key])
    assert {path: sorted(types) for path, types in paths.items()} == {
        path: sorted(types) for path, types in documented.items()
    }


@pytest.mark.parametrize("instruction", SUPPORTED)
def test_paths_without_a_product_are_those_of_all(instruction):
    documented = SPEC["instructions"][instruction]
    every = {}
    for row in documented.values():
        for path, types in row.items():
            every.setdefault(path, set()).update(types)
    paths = params_class(instruction).paths()
    assert {path: set(types) for path, types in paths.items()} == every
    assert all(len(types) == len(set(types)) for types in paths.values())


def nop_of(instruction):
    """Params that no bound or overlap can refuse."""
    if instruction == "nddma":
        return asc.NdDmaParams(asc.NdDmaLoopInfo((1,), (1,), (0,)))
    cls = params_class(instruction)
    return cls(0, 1, 16) if instruction == "nz2nd" else cls()


@pytest.mark.parametrize("instruction", SUPPORTED)
def test_a_move_is_legal_just_where_the_table_says_so(instruction):
    """Every product, path and type: the whole table, as the checks apply it."""
    params = nop_of(instruction)
    documented = SPEC["instructions"][instruction]
    for key in SPEC["products"]:
        for path in params.paths():
            for name in TYPES:
                listed = name in documented.get(key, {}).get(path, ())
                site = {"product": key, "path": path, "dtype": name, "src_size": 0}
                try:
                    asc.Move.of(params, **site)
                    legal = True
                except (asc.SupportError, asc.ParamError) as error:
                    assert error.field in ("product", "path", "dtype")
                    legal = False
                assert legal == listed, site


@pytest.mark.parametrize("instruction", ["data_copy", "data_copy_pad"])
def test_plain_copies_are_on_all_products_but_the_vector_core(instruction):
    cls = params_class(instruction)
    having = [key for key, p in asc.PRODUCTS.items() if cls.paths(p)]
    assert having == [key for key in asc.PRODUCTS if key != "atlas_inference_vector"]
    least = 4 if instruction == "data_copy" else 8
    every = {name for name, t in TYPES.items() if t.bits >= least}
    assert all(set(types) == every for types in cls.paths().values())


# --- paths


@pytest.mark.parametrize(
    "name, path",
    [
        ("A1->A2", "A1->A2"),
        ("L1->L0A", "A1->A2"),
        ("L1->L0B", "B1->B2"),
        ("l1 -> l0b", "B1->B2"),
        ("GM->L1", "GM->A1"),
        ("GM->L0A", "GM->A2"),
        ("A1->L0A", "A1->A2"),
    ],
)
def test_a_path_may_name_buffers(name, path):
    assert resolve_path(name, PATHS, "load2d", "Load2D, Table 3") == path
    move = asc.Move.of(asc.LoadData2DParams(), path=name, dtype="half", src_size=0)
    assert move.path == path


def test_ub_means_what_the_instruction_has():
    nz = asc.Nz2NdParamsFull(0, 1, 16)
    pad = nop_of("nddma")
    assert asc.Move.of(nz, path="UB->GM", dtype="half", src_size=0).path == "VECOUT->GM"
    assert asc.Move.of(pad, path="GM->UB", dtype="half", src_size=0).path == "GM->VECIN"


# --- types


def test_the_types_are_those_of_the_documents():
    assert list(TYPES) == list(SPEC["types"])
    for name, row in SPEC["types"].items():
        t = asc.ascend_type(name)
        jax_name = {"bool_": "bool"}.get(row["jax"], row["jax"])
        assert (t.name, t.bits, t.jax) == (name, row["bits"], jax_name)
        assert repr(t) == name


def test_units_follow_the_width():
    rows = [(t.bits, t.c0, t.fractal) for t in TYPES.values()]
    assert set(rows) == {
        (4, 64, 1024),
        (8, 32, 512),
        (16, 16, 256),
        (32, 8, 128),
        (64, 4, 64),
    }


@pytest.mark.parametrize("name", [n for n, row in SPEC["types"].items() if row["jax"]])
def test_a_type_answers_to_its_jax_names(name):
    t = asc.ascend_type(name)
    dtype = jnp.dtype(t.jax)
    assert asc.ascend_type(t.jax) is asc.ascend_type(dtype) is asc.ascend_type(t) is t
    assert asc.ascend_type(getattr(jnp, t.jax, dtype)) is t
    assert t.carrier == t.jax
    assert of_array(dtype, None, "test") == (t, False)
    if dtype.kind in "iufcb":
        assert asc.ascend_type(np.dtype(t.jax).type) is t


def test_float_is_32_bits_wide():
    assert asc.ascend_type("float").bits == 32
    assert asc.ascend_type("double").bits == 64


@pytest.mark.parametrize(
    "name, carrier",
    [("complex32", "uint32"), ("fp4x2_e1m2_t", "uint4"), ("hifloat8_t", "uint8")],
)
def test_a_type_that_jax_lacks_is_carried_as_bits(name, carrier):
    t = asc.ascend_type(name)
    assert (t.jax, t.carrier) == (None, carrier)
    assert of_array(carrier, name, "test") == (t, False)


def test_4_bit_types_may_come_packed():
    for name in ("int4b_t", "fp4x2_e2m1_t", "fp4x2_e1m2_t"):
        assert of_array("uint8", name, "test") == (asc.ascend_type(name), True)
    assert of_array("uint8", "uint8_t", "test") == (asc.ascend_type("uint8_t"), False)
