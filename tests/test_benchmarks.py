"""The benchmarks run, and time only what gives the right answer. Nothing is timed here.

They are scripts beside the package, so the repository's root is put on the path.
"""

import importlib
import json
import sys
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are not part of this copy", allow_module_level=True)
sys.path.insert(0, str(ROOT))
cases, report, strides, timing, work = (
    importlib.import_module(f"benchmarks.{name}")
    for name in ("cases", "report", "strides", "timing", "work")
)
sys.path.remove(str(ROOT))
SCRIPTS = ("bench_dispatch", "bench_first_call", "bench_fusion")  # .ci/run has the rest
EACH = [
    pytest.param(case, name, id=f"{case.name}, {name}")
    for case in cases.CASES.values()
    for name in ("float", "bfloat16_t", "int8_t", "int4b_t")
    if asc.ascend_type(name).bits in case.bits
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_runs_and_saves_its_rows(script, tmp_path, capsys):
    saved = tmp_path / "rows.json"
    module = importlib.import_module(f"benchmarks.{script}")
    assert module.main(["--smoke", "--json", str(saved)]) == 0
    data = json.loads(saved.read_text())
    assert data["rows"] and data["figures"] and data["machine"]["jax"]
    assert data["figures"][0]["name"] in capsys.readouterr().out


@pytest.mark.parametrize(("case", "dtype"), EACH)
def test_answers_by_strides_are_those_by_index(case, dtype):
    t = asc.ascend_type(dtype)
    move = work.move_of(case, case.make(t, 4096), dtype)
    src = np.arange(move.src_size, dtype=np.int32)
    dst = -np.arange(move.dst_size, dtype=np.int32) if case.given_dst else None
    fills = list(np.array(move.fills, np.int32))
    want = move.index_map.apply(src, dst, fill=fills)
    np.testing.assert_array_equal(strides.forward(move, src, dst), want)
    ct = np.arange(move.dst_size) % 5
    index = move.index_map.index
    total = np.zeros(move.src_size, int)
    np.add.at(total, index[index >= 0], ct[index >= 0])
    np.testing.assert_array_equal(strides.backward(move, ct), total)


@pytest.mark.parametrize(("case", "dtype"), EACH)
def test_flags_say_what_the_move_is(case, dtype):
    t = asc.ascend_type(dtype)
    move = work.move_of(case, case.make(t, 4096), dtype)
    index = move.index_map.index
    copied = index[index >= 0]
    assert case.injective == (np.unique(copied).size == copied.size)
    same = index.size == move.src_size and (index == np.arange(index.size)).all()
    assert case.identity == same
    assert case.given_dst <= bool((index == -1).any())


@pytest.mark.parametrize("size", [2**16, 2**20])
@pytest.mark.parametrize(("case", "dtype"), EACH)
def test_a_case_moves_about_the_bytes_it_is_named_after(case, dtype, size):
    t = asc.ascend_type(dtype)
    move = work.move_of(case, case.make(t, size), dtype)
    moved = sum(nest.volume for nest in move.nests) * t.bits // 8
    assert size <= moved <= 1.2 * size


@pytest.mark.parametrize(
    "name", ["load2dv2 transpose", "nz2nd src gap", "nddma permute"]
)
def test_large_sizes_take_several_calls_where_one_cannot(name):
    calls = cases.CASES[name].make(asc.ascend_type("int8_t"), 2**26)
    move = work.move_of(cases.CASES[name], calls, "int8_t")
    assert move.nest is not None and move.nest.volume == 2**26
    assert (len(calls) > 1) == (not name.startswith("nddma"))


def test_every_timed_instruction_has_each_kind_of_case():
    kinds = {"transpose", "gap", "repeat", "odd"}
    timed = {c.instruction for c in cases.CASES.values()}
    assert timed == {"load2d", "load2dv2", "ldwt_v1", "ldwt_v2", "nz2nd", "nddma"}
    for instruction in timed:
        own = [c for c in cases.CASES.values() if c.instruction == instruction]
        named = " ".join(c.kind for c in own)
        assert not {k for k in kinds if k not in named}, instruction
        assert any("src gap" in c.kind for c in own)
        assert any("dst gap" in c.kind and c.given_dst for c in own)


def wrong(bench, monkeypatch):
    """Make the flat peer of every move give its answer reversed."""
    flat = bench.peers.flat

    def reversed_flat(axes):
        f = flat(axes)
        return f and (lambda src, dst: f(src, dst)[..., ::-1])

    monkeypatch.setattr(bench.peers, "flat", reversed_flat)


def test_a_wrong_variant_is_not_timed(monkeypatch):
    def build(direction):
        case = cases.CASES["nz2nd transpose"]
        return work.work_of(case, "f32", "4KiB", directions=direction, only={"flat"})

    assert set(build(("forward",)).variants["forward"]) == {"copy", "ours", "flat"}
    wrong(work, monkeypatch)
    for direction in ("forward", "backward"):
        with pytest.raises(timing.WrongAnswer, match=f"{direction}, flat: .* wrong"):
            build((direction,))


def test_a_wrong_layer_is_not_timed(monkeypatch):
    layers = importlib.import_module("benchmarks.bench_layers")
    from_eqx = asc.nn.NZLinear.from_eqx

    def bent(layer, **options):
        layer = eqx.tree_at(lambda m: m.bias, layer, layer.bias + 1)
        return from_eqx(layer, **options)

    monkeypatch.setattr(asc.nn.NZLinear, "from_eqx", bent)
    with pytest.raises(timing.WrongAnswer, match=r"NZLinear, forward: .* wrong"):
        layers.main(["--smoke"])


@pytest.mark.parametrize(
    ("got", "message"),
    [([0.0, 1.0, -2.0], "1 wrong elements, first 2"), ([0.0, 1.0], "2 elements, not")],
)
def test_check_is_exact(got, message):
    want = np.array([0, 1, 2], np.float32)
    timing.check("same", want.copy(), want)
    with pytest.raises(timing.WrongAnswer, match=message):
        timing.check("other", np.array(got, np.float32), want)


def test_check_tells_zeros_apart():
    with pytest.raises(timing.WrongAnswer, match="1 wrong elements"):
        timing.check("sign", -np.zeros(1, np.float32), np.zeros(1, np.float32))


def row(case, direction="forward", type="f32", identity=False, **times):
    flags = {"given_dst": False, "element": False, "injective": True}
    named = {"case": case, "type": type, "direction": direction}
    size = {"size": "1MiB", "bytes": 2**20}
    return {**named, **size, **flags, "identity": identity, "seconds": times}


def test_figures_are_means_of_ratios_without_identities():
    rows = [
        row("a", ours=2.0, copy=1.0, flat=8.0),
        row("b", ours=8.0, copy=1.0, flat=8.0),
        row("a", "backward", ours=4.0, copy=1.0),
        row("same", identity=True, ours=1e9, copy=1.0),
        row("a", type="jnp.int4", ours=1e9, copy=1.0),
    ]
    found = {figure.name: figure for figure in report.figures(rows)}
    assert found["copy / ours, geomean"].value == pytest.approx(0.25)
    assert found["copy / ours, worst"].value == pytest.approx(0.125)
    assert found["copy / ours, worst"].where == "b, f32, 1MiB"
    assert found["flat jnp / ours, geomean"].value == pytest.approx(2)
    assert found["backward / forward, injective, geomean"].value == pytest.approx(2)
