"""Equinox modules: the functions with everything but the arrays given beforehand."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, Case, integers, nddma
from helpers import check_equal, check_same, moved, on_device, operands, pulled_back

import ascjax as asc

pytestmark = pytest.mark.quick

MODULES = {
    "load_data": asc.nn.LoadData,
    "load_data_with_transpose": asc.nn.LoadDataWithTranspose,
    "data_copy": asc.nn.DataCopy,
    "data_copy_pad": asc.nn.DataCopyPad,
}
NAMES = [name for name, case in CASES.items() if len(case.calls) == 1]


def module_of(case: Case):
    """The case's single call as a module."""
    (call,) = case.calls
    return MODULES[call.params.op](
        call.params,
        dtype=case.dtype,
        src_size=case.src_size,
        dst_size=case.dst_size,
        src_offset=call.src_offset,
        dst_offset=call.dst_offset,
        overlap=case.overlap,
        product=case.product,
        path=case.path,
    )


@pytest.mark.parametrize("name", NAMES)
def test_modules_equal_the_functions(name):
    case = CASES[name]
    module = module_of(case)
    assert module.move == case.move and module.params == case.calls[0].params
    src, dst = on_device(*operands(case.move))
    check_same(module(src, dst), case.run(src, dst))


def test_without_a_destination_and_with_a_key():
    case = CASES["nddma_constant"]
    src, _ = operands(case.move, (2,))
    out = module_of(case)(src, key=jax.random.key(0))
    check_same(out, case.run(src))


@pytest.mark.parametrize("name", NAMES)
def test_to_dict_is_json_and_from_dict_brings_it_back(name):
    module = module_of(CASES[name])
    data = json.loads(json.dumps(module.to_dict()))
    again = type(module).from_dict(data)
    assert again == module and again.move == module.move
    assert hash(again.move) == hash(module.move)


def test_the_dict_names_the_site_and_keeps_the_padding_s_bits():
    nan = np.array(0xFE55, "u2").view("f2")[()]
    params = nddma((1,), (1,), (16,), (2,), (1,), nan)
    module = asc.nn.DataCopy(
        params, dtype="half", src_size=40, product=3510, path="GM->UB", src_offset=4
    )
    data = module.to_dict()
    assert {k: v for k, v in data.items() if k != "fields"} == {
        "instruction": "nddma",
        "product": "atlas_350",
        "path": "GM->VECIN",
        "dtype": "half",
        "src_size": 40,
        "dst_size": 19,
        "src_offset": 4,
        "dst_offset": 0,
        "overlap": "error",
    }
    again = asc.nn.DataCopy.from_dict(data)
    assert again.move.fills == (0xFE55,)
    src = np.ones(40, "f2")
    check_same(again(src), module(src))
    for zero, bits in ((-0.0, 0x8000), (0.0, 0)):
        params = nddma((1,), (1,), (16,), (2,), (1,), zero)
        made = asc.nn.DataCopy(params, dtype="half", src_size=16)
        again = asc.nn.DataCopy.from_dict(made.to_dict())
        assert again.move.fills == (bits,)


def test_a_dict_of_another_instruction_is_refused():
    data = module_of(CASES["nz2nd"]).to_dict()
    text = "load_data: params must be LoadData2DParams or LoadData2DParamsV2"
    with pytest.raises(asc.ParamError, match=text):
        asc.nn.LoadData.from_dict(data)


@pytest.mark.parametrize(
    "options, error, text",
    [
        (
            {"src_size": 767},
            asc.BoundsError,
            r"load2d: src must hold elements \[0, 768",
        ),
        (
            {"dst_size": 511},
            asc.BoundsError,
            r"load2d: dst must hold elements \[0, 512",
        ),
        (
            {"dtype": "double"},
            asc.ParamError,
            "load2d: dtype must be 4, 8, 16, 32 bits",
        ),
        ({"dtype": float}, asc.ParamError, "dtype must name an Ascend C type"),
        (
            {"product": "kirin_9030", "dtype": "float"},
            asc.SupportError,
            "load2d: dtype must be one that kirin_9030 moves",
        ),
        (
            {"path": "A1->A2", "src_offset": 1, "src_size": 800},
            asc.AlignmentError,
            "load2d: src_offset must start on a multiple of 32 bytes",
        ),
        ({"behaviour": "as_built"}, asc.SupportError, "behaviour must be 'documented'"),
        ({"src_offset": 0.5}, asc.ParamError, "src_offset must be an integer"),
        ({"src_size": 768.0}, asc.ParamError, "src_size must be an integer"),
        ({"dst_size": "512"}, asc.ParamError, "dst_size must be an integer"),
    ],
)
def test_modules_are_checked_when_built(options, error, text):
    params = asc.LoadData2DParams(0, 2, 2)
    with pytest.raises(error, match=text):
        asc.nn.LoadData(params, **{"dtype": "half", "src_size": 768, **options})


def test_modules_check_overlap_and_their_instruction():
    double = nddma((1, 1), (1, 2), (3, 2))
    with pytest.raises(asc.OverlapError, match=r"nddma: loop_dst_stride\[1\] must be"):
        asc.nn.DataCopy(double, dtype="half", src_size=9)
    with pytest.raises(asc.ParamError, match=r"Call asc\.data_copy for it"):
        asc.nn.LoadData(double, dtype="half", src_size=9)


def test_numpy_integers_are_integers():
    params = asc.LoadData2DParams(np.int32(0), np.uint8(2), np.int64(2))
    sizes = {"src_size": np.int64(768), "dst_offset": np.int16(32)}
    module = asc.nn.LoadData(params, dtype=np.float16, **sizes)
    assert json.loads(json.dumps(module.to_dict()))["src_size"] == 768


@pytest.mark.parametrize("field", ["src", "dst"])
def test_arrays_of_other_sizes_and_types_are_refused(field):
    module = module_of(CASES["load2d_gap"])
    sizes = {"src": 800, "dst": 1027}
    arrays = {k: np.zeros(n, "f2") for k, n in sizes.items()}
    short = {**arrays, field: np.zeros(sizes[field] - 1, "f2")}
    text = f"load2d: {field} must hold {sizes[field]} .elements. in its last axis, got"
    with pytest.raises(asc.BoundsError, match=text):
        module(**short)
    wrong = {**arrays, field: np.zeros(sizes[field], "f4")}
    with pytest.raises(asc.ParamError, match=f"load2d: {field} must h(ave|old)"):
        module(**wrong)


# --- as a pytree, and in Equinox


def test_a_module_has_no_leaves():
    module = module_of(CASES["load2d_gap"])
    assert jax.tree.leaves(module) == []
    assert jax.tree.leaves(eqx.filter(module, eqx.is_array)) == []
    same, other = module_of(CASES["load2d_gap"]), module_of(CASES["load2d_odd"])
    assert jax.tree.structure(same) == jax.tree.structure(module)
    assert jax.tree.structure(other) != jax.tree.structure(module)
    mapped = jax.tree.map(lambda x: x, module)
    assert mapped == module and mapped.move == module.move


class Model(eqx.Module):
    """A weight around a move: gradients pass through the move to the weight."""

    weight: jax.Array
    load: asc.nn.LoadData

    def __call__(self, src, dst):
        return self.load(self.weight * src, dst)


def model() -> tuple[Model, np.ndarray, np.ndarray]:
    case = CASES["load2d_decrease"]
    src, dst = operands(case.move)
    weight = integers(5, src.shape)
    return Model(jnp.asarray(weight), module_of(case)), src, dst


def test_filter_jit_and_filter_grad():
    net, src, dst = model()
    move = net.load.move

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(net, src, dst):
        return (net(src, dst) ** 2).sum() / 2

    value, grads = loss(net, src, dst)
    out = moved(move, src * np.asarray(net.weight), dst)
    check_equal(value, (out**2).sum() / 2)
    check_equal(grads.weight, pulled_back(move, out)[0] * src)
    assert jax.tree.leaves(grads.load) == []


def test_filter_jit_takes_the_module_as_an_argument_without_tracing_twice():
    count = 0

    @eqx.filter_jit
    def run(module, src):
        nonlocal count
        count += 1
        return module(src)

    src = operands(CASES["load2d_gap"].move)[0]
    for _ in range(3):
        out = run(module_of(CASES["load2d_gap"]), src)
    assert count == 1
    check_same(out, moved(CASES["load2d_gap"].move, src))


def test_filter_vmap_over_sources_and_models():
    net, src, dst = model()
    move = net.load.move
    srcs = np.stack([src, src[::-1]])
    out = eqx.filter_vmap(net, in_axes=(0, None))(srcs, dst)
    weight = np.asarray(net.weight)
    check_same(out, moved(move, weight * srcs, dst))
    nets = eqx.tree_at(lambda n: n.weight, net, jnp.stack([net.weight, -net.weight]))
    out = eqx.filter_vmap(lambda n: n(src, dst))(nets)
    check_same(out, moved(move, np.stack([weight, -weight]) * src, dst))


def test_sequential_chains_moves():
    pick = asc.nn.LoadData(
        asc.LoadData2DParams(0, 2, 2), dtype="half", src_size=768, dst_size=512
    )
    turn = asc.nn.LoadDataWithTranspose(
        asc.LoadData2dTransposeParams(0, 2, 1), dtype="half", src_size=512
    )
    rows = asc.nn.DataCopy(
        asc.Nz2NdParamsFull(1, 16, 32, 1, 16, 32, 1), dtype="half", src_size=512
    )
    net = eqx.nn.Sequential([pick, eqx.nn.Lambda(jax.nn.relu), turn, rows])
    src = integers(1, (768,), "f2")
    want = src
    for layer in (pick, turn, rows):
        want = np.maximum(moved(layer.move, want), 0)
    check_equal(net(src), want)
    check_equal(eqx.filter_jit(net)(src, key=jax.random.key(1)), want)
    grad = eqx.filter_grad(lambda x: net(x).astype("float32").sum())(src)
    ct = np.ones(512, "f2")
    for layer in (rows, turn, pick):
        if layer is pick:
            ct = ct * (moved(pick.move, src) > 0)
        ct = pulled_back(layer.move, ct)[0]
    check_equal(grad, np.where(src == 0, 0, ct).astype("f2"))


def test_leaf_serialisation_writes_nothing_and_the_dict_does(tmp_path):
    module = module_of(CASES["nz2nd"])
    file = tmp_path / "move.eqx"
    eqx.tree_serialise_leaves(file, module)
    assert file.stat().st_size == 0
    assert eqx.tree_deserialise_leaves(file, module) == module
    assert asc.nn.DataCopy.from_dict(module.to_dict()) == module
