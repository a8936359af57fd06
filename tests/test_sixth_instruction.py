"""A stranger's instruction, in one short file, works everywhere that ours do."""

import contextlib
import dataclasses
import doctest
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import check_gradients, check_move, operands

import ascjax as asc
from ascjax import cli, oracle
from ascjax.instr import REGISTRY, params_class
from ascjax.verify import check_case, read_cases
from ascjax.verify._suite import combinations, draw, run_checks

pytestmark = pytest.mark.quick

FILE = Path(__file__).parent / "data" / "sixth.py"
SITE = {"product": "910B", "path": "L1->L0A"}


@contextlib.contextmanager
def installed():
    """The stranger's module, taken out of the tables again afterwards."""
    tables = [(table, dict(table)) for table in (REGISTRY, oracle.INSTRUCTIONS)]
    spec = importlib.util.spec_from_file_location("sixth", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        yield module
    finally:
        for table, before in tables:
            table.clear()
            table.update(before)


@pytest.fixture
def sixth():
    with installed() as module:
        yield module


@pytest.fixture
def params(sixth):
    return sixth.MirrorParams(1, 3, 2)


@pytest.fixture
def move(params):
    return asc.Move.of(params, dtype="half", src_size=80, dst_size=120, **SITE)


def case_file(folder, **changes):
    fields = {"startBlock": 1, "blockCount": 3, "dstGap": 2}
    case = {
        "id": "one",
        "instruction": "mirror",
        "product": "atlas_a2",
        "path": "A1->A2",
        "dtype": "half",
        "fields": fields,
        "src_size": 80,
        "dst_size": 120,
    }
    file = folder / "mirror.json"
    file.write_text(json.dumps([{**case, **changes}]))
    return file


def test_the_file_is_short():
    assert len(FILE.read_text().splitlines()) < 80


def test_its_example_runs(sixth):
    assert doctest.testmod(sixth).attempted == 1
    assert doctest.testmod(sixth).failed == 0


def test_it_is_found_by_its_name(sixth, params):
    assert params_class("mirror") is sixth.MirrorParams
    fields = {"startBlock": 1, "blockCount": 3, "dstGap": 2}
    assert sixth.MirrorParams.from_fields(fields) == params
    assert asc.Params.from_dict(json.loads(json.dumps(params.to_dict()))) == params


def test_the_op_moves_it(params, move):
    src, dst = operands(move)
    check_move(move, lambda s, d: asc.load_data(s, params, dst=d, **SITE), src, dst)
    out = np.asarray(asc.load_data(np.arange(80, dtype="half"), params, **SITE))
    assert out[[0, 15, 16, 48, 96]].tolist() == [48, 63, 0, 32, 16]


def test_the_map_is_the_oracle_s(params, move):
    src, dst = np.arange(80), np.full(120, -1)
    want = oracle.run("mirror", params.to_fields(), 16, src, dst)
    np.testing.assert_array_equal(move.index_map.index, want)


def test_it_has_a_plan_without_an_index(move):
    assert str(move.plan) == (
        "read      3 every 16 x 16 every 1 from 16 of src\n"
        "reverse   axes (0,)\n"
        "write     3 every 48 x 16 every 1 from 0 of dst, the rest kept"
    )


def test_it_has_gradients_and_batches(params, move):
    src, dst = operands(move)
    check_gradients(move, lambda s, d: asc.load_data(s, params, dst=d), src, dst)
    rows, kept = operands(move, (3,))
    run = jax.vmap(lambda s, d: asc.load_data(s, params, dst=d))
    check_move(move, run, rows, kept)


def test_it_joins_a_sequence(params):
    both = asc.sequence([(params, 0, 0), (params, 16, 16)], **SITE | {"path": None})
    out = np.asarray(both(jnp.arange(96, dtype="half")))
    assert out[[0, 16, 32]].tolist() == [48, 64, 0]


def test_it_is_a_module(params):
    module = asc.nn.LoadData(params, dtype="half", src_size=80, **SITE)
    again = asc.nn.LoadData.from_dict(json.loads(json.dumps(module.to_dict())))
    src = jnp.arange(80, dtype="half")
    want = asc.load_data(src, params, **SITE)
    for made in (module, again):
        np.testing.assert_array_equal(eqx.filter_jit(made)(src), want)


@pytest.mark.parametrize(
    "fields, site, text",
    [
        (
            {"block_count": 4096},
            {},
            r"mirror: block_count must be in \[0, 4095\] \(blocks",
        ),
        (
            {"dst_gap": 1},
            {"dtype": "int8_t"},
            r"mirror: dst_gap must be even for 8-bit",
        ),
        (
            {},
            {"product": 3510},
            r"mirror: product must be .* \(atlas_a2\), got atlas_350",
        ),
        (
            {},
            {"src_offset": 1},
            r"mirror: src_offset must start on a multiple of 32 byt",
        ),
        (
            {"block_count": 9},
            {},
            r"mirror: src must hold elements \[0, 144\), .* got 100",
        ),
    ],
)
def test_what_is_illegal_is_refused(sixth, fields, site, text):
    with pytest.raises(asc.AscendError, match=text):
        params = sixth.MirrorParams(**{"block_count": 3, **fields})
        asc.Move.of(params, **{"dtype": "half", "src_size": 100, **SITE, **site})


def test_the_wrong_op_names_the_right_one(params):
    text = (
        r"data_copy: params must be .*, got MirrorParams\. Call asc\.load_data for it"
    )
    with pytest.raises(asc.ParamError, match=text):
        asc.data_copy(jnp.zeros(80, "half"), params)


def test_case_files_verify_it(sixth, tmp_path, capsys):
    (case,) = read_cases(case_file(tmp_path))
    assert check_case(case, through_op=True).compared == ("oracle", "op")
    assert cli.main(["verify", "--quiet", str(case_file(tmp_path))]) == 0
    fields = {"startBlock": 3, "blockCount": 3}
    assert cli.main(["verify", "--quiet", str(case_file(tmp_path, fields=fields))]) == 1
    assert "refused: mirror: src must hold elements" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_suite_samples_it(sixth):
    among = [one for one in combinations() if one[0] == "mirror"]
    assert len(among) == 6
    results, numbers = run_checks(draw(among, 3, 0))
    assert [result.status for result in results] == ["ok"] * 6 * 24
    assert numbers["own_jit"] == 6
    assert numbers["coverage"]["mirror"]["kinds"]["nop"] <= 6 * 3


WRONG = {
    "source start": lambda n, c0: dataclasses.replace(n, src_start=n.src_start + c0),
    "before source": lambda n, c0: dataclasses.replace(n, src_start=-c0),
    "gap as stride": lambda n, c0: with_loop(n, dst_stride=n.loops[0].dst_stride - c0),
    "too many": lambda n, c0: with_loop(n, extent=n.loops[0].extent + 1),
    "too few": lambda n, c0: with_loop(n, extent=max(0, n.loops[0].extent - 1)),
    "always a NOP": lambda n, c0: asc.LoopNest.nop(),
}


def with_loop(nest, **changes):
    """The nest with its outermost loop changed."""
    first = dataclasses.replace(nest.loops[0], **changes)
    return dataclasses.replace(nest, loops=(first, *nest.loops[1:]))


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_the_suite_fails_a_wrong_nest(sixth, monkeypatch, change):
    """Also where the engine leaves the buffers that the oracle fits, or overlaps."""
    right = sixth.MirrorParams.nest
    monkeypatch.setattr(
        sixth.MirrorParams,
        "nest",
        lambda self, site: change(right(self, site), site.type.c0),
    )
    among = [one for one in combinations() if one[0] == "mirror"][:1]
    results, _ = run_checks(draw(among, 6, 0))
    failed = [result for result in results if result.failed]
    assert len(results) == 24 and len(failed) >= 16


def test_the_suite_fails_an_oracle_that_overlaps(sixth, monkeypatch):
    def twice(fields, bits):
        for to, at in sixth.mirror(fields, bits):
            yield to * 0, at

    monkeypatch.setitem(oracle.INSTRUCTIONS, "mirror", twice)
    among = [one for one in combinations() if one[0] == "mirror"][:1]
    results, _ = run_checks(draw(among, 6, 0))
    assert sum(result.failed for result in results) >= 21


@pytest.mark.long
def test_a_wrong_nest_is_status_1_from_the_command_line(tmp_path):
    text = FILE.read_text()
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text.replace("last * c0,  # where", "(last + 1) * c0,  # where"))
    assert wrong.read_text() != text
    status = {}
    for file in (FILE, wrong):
        words = ["--with", str(file), "verify", "--only", "mirror", "--quiet"]
        run = [sys.executable, "-m", "ascjax", *words]
        status[file] = subprocess.run(run, capture_output=True, text=True)
    assert status[FILE].returncode == 0 and status[wrong].returncode == 1
    assert "the oracle accepts it, the engine refuses: mirror: src must hold" in (
        status[wrong].stdout
    )


def test_list_and_show_have_it(sixth, capsys):
    assert cli.main(["list"]) == 0
    assert "mirror" in capsys.readouterr().out
    assert cli.main(["show", "mirror", "--block-count", "2"]) == 0
    assert "dst[16*i + e] = src[16 - 16*i + e]" in capsys.readouterr().out


def test_a_broken_oracle_is_noticed(sixth, tmp_path):
    (case,) = read_cases(case_file(tmp_path))
    right = oracle.INSTRUCTIONS["mirror"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            oracle.INSTRUCTIONS,
            "mirror",
            lambda fields, bits: right({**fields, "dstGap": 1}, bits),
        )
        assert check_case(case).status == "mismatch"


def test_it_leaves_nothing_behind():
    before = list(REGISTRY), list(oracle.INSTRUCTIONS)
    with installed():
        assert "mirror" in REGISTRY and "mirror" in oracle.INSTRUCTIONS
    assert (list(REGISTRY), list(oracle.INSTRUCTIONS)) == before
