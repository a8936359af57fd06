"""`asc.sweep`: thousands of parameter sets, each as its own op has it."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc
from ascjax import oracle
from ascjax.sweeps import Job, run_jobs
from ascjax.sweeps._batch import coded, on_host
from ascjax.sweeps._code import Kind, encode, kind_of, nop, size_class
from ascjax.sweeps._jobs import Run
from ascjax.sweeps._program import _settled
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations

rng = functools.partial(np.random.default_rng, 11)


def bits(random, count, width):
    """Random bits, NaNs of every payload among them; one uint8 each for 4 bits."""
    held = random.integers(0, 2**width, count, dtype=np.uint64, endpoint=False)
    return held.astype(f"uint{max(8, width)}")


def job_of(move, random):
    src = bits(random, move.src_size, move.type.bits)
    return Job(move, src, bits(random, move.dst_size, move.arrives.bits))


@functools.cache
def drawn():
    """(sample, site, job) of every instruction, product, path and type in turn; few
    large ones, which need programs of their own."""
    random = rng()
    found = []
    for k, (instruction, site) in enumerate(combinations()[::3]):
        made = sample(instruction, site, lambda a, b: int(random.integers(a, b + 1)))
        move = made.move(site)
        if max(move.src_size, move.dst_size) <= 4096 or k % 9 == 0:
            found.append((made, site, job_of(move, random)))
    return found


@functools.cache
def samples():
    return [job for _, _, job in drawn()]


def by_map(job):
    """The answer by the move's map, in NumPy."""
    fills = [job.dst.dtype.type(bits & 2**64 - 1) for bits in job.move.fills]
    return job.move.index_map.apply(converted(job), job.dst, fill=fills)


def converted(job):
    """The bits of the source's values as they arrive."""
    move, few = job.move, 1 << 14
    if move.conversion is None:
        return job.src
    held = np.zeros(few * -(-job.src.size // few), job.src.dtype)
    held[: job.src.size] = job.src
    pieces = held.view(move.type.carrier).reshape(-1, few)  # one shape, one compilation
    found = [np.asarray(jax.jit(move.conversion)(piece)) for piece in pieces]
    return np.concatenate(found).view(job.dst.dtype)[: job.src.size]


def by_op(job):
    """The answer by the move's own compilation."""
    carriers = job.move.type.carrier, job.move.arrives.carrier
    src, dst = (x.view(c) for x, c in zip(job[1:], carriers, strict=True))
    return np.asarray(asc.run_move(job.move, src, dst)).view(job.dst.dtype)


def by_oracle(made, site, job):
    """The answer by the oracle's map of element numbers."""
    where = oracle.run(
        made.params.instruction,
        made.params.to_fields(),
        site.type.bits,
        np.arange(job.src.size),
        np.full(job.dst.size, -1),
        src_offset=made.src_offset,
        dst_offset=made.dst_offset,
        pad=-2,
        product=site.product.key,
        path=site.path,
    )
    answer = np.where(where == -1, job.dst, converted(job)[np.maximum(where, 0)])
    padding = job.move.fills[0] & 2 ** (8 * job.dst.itemsize) - 1
    return np.where(where == -2, job.dst.dtype.type(padding), answer)


def check_jobs(jobs, **options):
    """Each comes back in its turn, and is what its map says."""
    after = list(run_jobs(jobs, **options))
    assert len(after) == len(jobs)
    for found, job in zip(after, jobs, strict=True):
        np.testing.assert_array_equal(found, by_map(job))
    return after


def test_every_instruction_product_path_and_type():
    instructions = {job.move.calls[0].params.instruction for job in samples()}
    assert instructions == set(asc.instr.REGISTRY)
    after = check_jobs(samples())
    for found, (made, site, job) in zip(after, drawn(), strict=True):
        np.testing.assert_array_equal(found, by_oracle(made, site, job))


def test_a_compilation_of_its_own_gives_the_same():
    """Of each instruction one that moves something."""
    jobs = {}
    for job in samples():
        move, params = job.move, job.move.calls[0].params
        narrow = job.src.itemsize < 8  # 64 bits need jax_enable_x64 there
        if move.nests[0].volume and narrow and job.src.size < 5000:
            jobs.setdefault(params.instruction, job)
    assert jobs.keys() == set(asc.instr.REGISTRY)
    for found, job in zip(run_jobs(jobs.values()), jobs.values(), strict=True):
        np.testing.assert_array_equal(found, by_op(job))


@pytest.mark.parametrize("quant", ["NoQuant", "F322F16", "F322BF16"])
@pytest.mark.parametrize("relu", [False, True])
def test_fixpipe_converts_as_its_own_compilation_does(quant, relu):
    """NaNs, infinities, subnormal numbers and ties among the values."""
    params = asc.FixpipeParams(
        16, 16, 16, 20, src_nd_stride=1, dst_nd_stride=1, quant_pre=quant, relu_en=relu
    )
    move = asc.Move.of(params, src_size=256, dtype="float")
    job = job_of(move, rng())
    special = [
        0,
        1 << 31,
        1,
        0x7F800001,
        0xFFC00055,
        0x7F800000,
        0x3F801000,
        0xBF808000,
    ]
    src = np.concatenate([np.array(special, "uint32"), job.src[8:]])
    job = job._replace(src=src)
    (after,) = run_jobs([job])
    np.testing.assert_array_equal(after, by_op(job))


def test_nans_keep_their_payloads_and_zeros_their_sign():
    (job,) = [job_of(loop_of_calls(1, 0), rng())]
    src = np.tile([0x7C01, 0xFE55, 0x8000, 1], 1024).astype("uint16")
    (after,) = run_jobs([job._replace(src=src)])
    assert after[:4].tolist() == [0x7C01, 0xFE55, 0x8000, 1]


def test_the_check_goes_red():
    """An element that arrives elsewhere, and one with another bit."""
    made, site, job = next(one for one in drawn() if one[2].src.itemsize == 4)
    (after,) = run_jobs([job])
    np.testing.assert_array_equal(after, by_oracle(made, site, job))
    for wrong in (np.roll(after, 1), after ^ (np.arange(after.size) == 0)):
        for answer in (by_map(job), by_oracle(made, site, job)):
            with pytest.raises(AssertionError):
                np.testing.assert_array_equal(wrong, answer)


@pytest.mark.parametrize("memory", [1, 1 << 16, 1 << 22])
def test_any_memory_gives_the_same(memory):
    jobs = samples()[:: len(samples()) // 8]
    check_jobs([*jobs, *jobs], memory=memory)


@pytest.mark.parametrize("devices", [1, 8, 64])
def test_a_batch_is_planned_for_its_memory(devices):
    """On all devices together, whatever there are of them."""
    one, _ = coded(0, samples()[0])
    run = Run(1 << 24, [jax.devices()[0]])
    run.spread.count = devices
    for elements in (1 << 10, 1 << 14, 1 << 18):
        most = run.most(one._replace(src=elements, dst=elements))
        assert most % devices == 0
        assert most == devices or 128 * most * elements <= run.memory
    assert run.most(one._replace(src=1 << 10, dst=1 << 10)) > devices


def test_only_what_is_read_and_written_goes_to_a_device():
    """A fractal out of a large buffer needs a small program, and few bytes."""
    far = asc.LoadData2DParams(start_index=4000, repeat_times=1)
    move = asc.Move.of(
        far, src_size=4096 * 256, dst_size=2**20, dst_offset=2**19, dtype="half"
    )
    one, waits = coded(0, job_of(move, rng()))
    assert (one.src, one.dst, waits.src.size) == (1024, 1024, 256)
    assert waits.written == slice(2**19, 2**19 + 256)
    check_jobs([job_of(move, rng())])


def test_operands_may_be_changed_once_a_job_is_taken():
    job = samples()[0]
    want = by_map(job)

    def jobs():
        src, dst = job.src.copy(), job.dst.copy()
        yield job._replace(src=src, dst=dst)
        src[:], dst[:] = 1, 2

    (after,) = run_jobs(jobs())
    np.testing.assert_array_equal(after, want)


def test_jobs_are_taken_as_they_are_needed():
    """A stream of any length: no more wait than the memory allows."""
    job = samples()[0]
    each = job.src.nbytes + job.dst.nbytes
    taken = itertools.count()
    endless = (job for _ in iter(lambda: next(taken), None))
    results = run_jobs(endless, memory=100 * each)
    for _ in range(5):
        next(results)
    assert next(taken) <= 110


def test_results_that_wait_for_an_earlier_one_are_bounded():
    """One job of a rare size first, then many of another."""
    rare, common = samples()[0], samples()[-1]
    assert coded(0, rare)[0] != coded(0, common)[0]
    run = Run(50 * (common.src.nbytes + common.dst.nbytes), None)
    most = 0
    for position in range(2000):
        run.add(position, common if position else rare)
        list(run.ready())
        most = max(most, len(run.done))
    assert most <= 150


def loop_of_calls(count, step, overlap="error"):
    call = asc.LoadData2DParams(repeat_times=2, src_stride=1)
    calls = tuple(asc.Call(call, 256 * k, step * k) for k in range(count))
    return asc.Move.sequence(calls, src_size=4096, dtype="half", overlap=overlap)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("step", [512, 256, 768])
def test_calls_one_after_another(count, step):
    check_jobs([job_of(loop_of_calls(count, step), rng()) for _ in range(3)])


def test_calls_with_paddings_of_their_own():
    def padded(value, start):
        info = asc.NdDmaLoopInfo((1,) * 5, (1,) * 5, (8, 1, 1, 1, 1), (3,) + (0,) * 4)
        return asc.Call(asc.NdDmaParams(info, value), 0, start)

    calls = (padded(7, 0), padded(-1, 16), padded(9, 32))
    move = asc.Move.sequence(calls, src_size=8, dst_size=48, dtype="int32_t")
    (after,) = run_jobs([Job(move, np.arange(8, dtype="uint32"), np.zeros(48, "u4"))])
    assert [after[0], after[16], after[32]] == [7, 2**32 - 1, 9]
    check_jobs([job_of(move, rng())])


def test_the_later_of_two_writes_wins():
    rows = asc.Nz2NdParamsFull(1, 4, 32, 1, 4, dst_d_stride=16)
    move = asc.Move.of(rows, src_size=256, dtype="half", overlap="last")
    check_jobs([job_of(move, rng()) for _ in range(4)])


def test_load3d_beside_load2d_in_one_sequence_is_applied_too():
    (load3d,) = [
        job.move
        for job in samples()
        if job.move.calls[0].params.instruction == "load3dv2"
        and isinstance(job.move.nests[0], asc.Runs)
        and job.move.type.bits == 16
        and job.move.src_size >= 256
    ][:1]
    load2d = asc.Call(asc.LoadData2DParams(repeat_times=1), 0, 0)
    both = asc.Move.sequence(
        (*load3d.calls, load2d),
        src_size=load3d.src_size,
        dst_size=max(256, load3d.dst_size),
        product=load3d.product,
        path=load3d.path,
        dtype=load3d.type,
    )
    assert kind_of([encode(nest) for nest in both.nests]) is None
    check_jobs([job_of(both, rng())])


def test_a_buffer_that_no_program_has_room_for():
    """It reads two fractals that lie further apart than 2^22 elements."""
    params = asc.LoadData2DParams(repeat_times=2, src_stride=2**13 + 1)
    move = asc.Move.of(params, src_size=2**22 + 1024, dtype="int8_t")
    job = job_of(move, rng())
    assert coded(0, job) is None
    check_jobs([job])


@pytest.mark.parametrize("changed", ["src", "dst"])
@pytest.mark.parametrize("how", [lambda x: x[1:], lambda x: x.view("int8")])
def test_operands_that_are_not_the_move_s_are_refused(changed, how):
    job = job_of(loop_of_calls(1, 0), rng())
    wrong = job._replace(**{changed: how(getattr(job, changed))})
    with pytest.raises(asc.BoundsError, match=f"{changed} must be the bits of"):
        list(run_jobs([wrong]))


@pytest.mark.parametrize("off", [-1, 0, 1])
def test_a_quotient_that_a_device_rounds_wrongly_is_settled(off):
    step = np.r_[0:3000, 2**22 - 3000 : 2**22].astype("int32")
    for by in (1, 2, 3, 7, 1023, 2**21 + 1):
        near = jnp.asarray(step // by + off, jnp.int32)
        whole, rest = _settled(near, jnp.asarray(step), jnp.int32(by))
        np.testing.assert_array_equal(whole, step // by)
        np.testing.assert_array_equal(rest, step % by)


def test_few_programs_serve_all_sizes():
    assert {size_class(n) for n in range(5000)} == {1024, 4096, 16384}
    kinds = [kind_of([encode(job.move.nests[0])]) for job in samples()]
    assert len(set(kinds)) <= 8


@pytest.mark.parametrize("rows", [0, 64, 512])
def test_a_call_that_does_nothing_fits_its_program(rows):
    kind = Kind(0, 0, rows) if rows else Kind(8, 8, 0)
    assert len(nop(kind).numbers) == kind.length


# --- the public sweep


L1 = np.arange(1024, dtype="float16")
FIELDS = [
    {"start_index": k % 5, "repeat_times": k % 4, "src_stride": k % 3} for k in range(9)
]


def raw(x):
    """Bits; of int4 the low nibble, which is all of it."""
    held = np.asarray(x)
    found = held.view(f"u{held.itemsize}")
    return found & 15 if held.dtype == "int4" else found


def check_sweep(found, params, src, dst=None, **options):
    """Every case that its op accepts is the op's result; every other its error."""
    assert len(found) == len(params)
    for k, one in enumerate(params):
        given = None if dst is None else dst if dst.ndim == 1 else dst[k]
        try:
            want = asc.load_data(
                src if src.ndim == 1 else src[k], one, dst=given, **options
            )
        except asc.AscendError as error:
            assert str(found.errors[k]) == str(error)
            assert found[k] is None
        else:
            assert found.status[k] == "ok"
            assert found[k].dtype == want.dtype
            np.testing.assert_array_equal(raw(found[k]), raw(want))


@pytest.mark.parametrize("form", ["params", "snake", "c", "columns"])
def test_cases_in_every_form(form):
    params = [asc.LoadData2DParams(**fields) for fields in FIELDS]
    cases = {
        "params": params,
        "snake": FIELDS,
        "c": [one.to_fields() for one in params],
        "columns": {name: [f[name] for f in FIELDS] for name in FIELDS[0]},
    }[form]
    where = {"product": "910B", "path": "L1->L0A"}
    found = asc.sweep("load2d", cases, L1, **where)
    check_sweep(found, params, L1, **where)
    assert (found.status == "bounds").any()


def test_columns_broadcast():
    grid = {"repeat_times": np.array([[1], [2]]), "src_stride": range(3)}
    found = asc.sweep(asc.LoadData2DParams, grid, L1)
    assert [(p.repeat_times, p.src_stride) for p in found.params] == [
        *((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2))
    ]


def test_operands_one_a_case():
    params = [asc.LoadData2DParams(**fields) for fields in FIELDS]
    src = np.stack([L1 + k for k in range(len(params))])
    dst = np.full((len(params), 1024), 7, "float16")
    check_sweep(asc.sweep("load2d", params, src, dst=dst), params, src, dst)
    check_sweep(
        asc.sweep("load2d", params, jnp.asarray(L1), dst=dst[0]), params, L1, dst[0]
    )


def test_starts_one_a_case():
    found = asc.sweep(
        "load2d", [{"repeat_times": 1}] * 3, L1, src_offset=[0, 256, 9999], dst_size=512
    )
    assert [None if x is None else float(x[0]) for x in found] == [0, 256, None]
    assert found.status.tolist() == ["ok", "ok", "bounds"]


def test_a_status_for_each_kind_of_error():
    half = {"dtype": "half", "path": "A1->A2"}
    cases = [
        ({"repeat_times": 1}, 0, "atlas_a2", "ok"),
        ({"repeat_times": 256}, 0, "atlas_a2", "param"),
        ({"repeat_times": 1, "no_such": 1}, 0, "atlas_a2", "param"),
        ({"repeat_times": 1, "dst_gap": 1}, 0, "atlas_training", "support"),
        ({"repeat_times": 99, "src_stride": 1}, 0, "atlas_a2", "bounds"),
        ({"repeat_times": 1}, 1, "atlas_a2", "alignment"),
    ]
    for fields, start, product, status in cases:
        found = asc.sweep(
            "load2d", [fields], L1, dst_offset=start, product=product, **half
        )
        assert found.status.tolist() == [status]
    rows = asc.Nz2NdParamsFull(1, 4, 32, 1, 4, dst_d_stride=16)
    assert asc.sweep("nz2nd", [rows], L1).status.tolist() == ["overlap"]
    assert asc.sweep("nz2nd", [rows], L1, overlap="last").ok.all()


def test_packed_4_bit_buffers():
    packed = np.arange(1024, dtype="uint8")
    params = [asc.LoadData2DParams(k, 1) for k in range(3)]
    found = asc.sweep("load2d", params, packed, dtype="int4b_t")
    check_sweep(found, params, packed, dtype="int4b_t")
    nd2nz = asc.Nd2NzParams(1, 3, 64, 0, 64, 16, 1, 0)
    (after,) = asc.sweep("nd2nz", [nd2nz], packed, dtype="int4b_t")
    np.testing.assert_array_equal(after, asc.data_copy(packed, nd2nz, dtype="int4b_t"))


def test_int4_arrays_and_64_bits():
    four = np.asarray(jnp.arange(-8, 8).astype(jnp.int4).repeat(64))
    params = [asc.LoadData2DParams(0, 1)]
    check_sweep(asc.sweep("load2d", params, four), params, four)
    info = asc.NdDmaLoopInfo((2,) + (1,) * 4, (1,) * 5, (4, 1, 1, 1, 1))
    wide = np.arange(8, dtype="uint64") << np.uint64(40)
    assert not jax.config.jax_enable_x64
    (after,) = asc.sweep("nddma", [asc.NdDmaParams(info, 0)], wide)
    np.testing.assert_array_equal(after, wide[::2])


def test_a_repr_counts():
    found = asc.sweep("load2d", [{"repeat_times": n} for n in (1, 1, 256)], L1)
    assert repr(found) == "Sweep(load2d: 3 cases: 2 ok, 1 param)"


def test_stacked():
    found = asc.sweep("load2d", {"repeat_times": [1, 2, 300]}, L1, dst_size=512)
    assert found.stacked().shape == (2, 512)
    with pytest.raises(asc.BoundsError, match="destinations of one size"):
        asc.sweep("load2d", {"repeat_times": [1, 2]}, L1).stacked()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: asc.sweep("mmad", [], L1), asc.SupportError, "one source and one"),
        (lambda: asc.sweep("load9d", [], L1), asc.SupportError, "one that ascjax has"),
        (lambda: asc.sweep("load2d", 3, L1), asc.ParamError, "mapping of columns"),
        (
            lambda: asc.sweep("load2d", [3], L1),
            asc.ParamError,
            "mappings of its fields",
        ),
        (
            lambda: asc.sweep("load2d", {"sid": [1, 2], "dst_gap": [1, 2, 3]}, L1),
            asc.ParamError,
            "columns that broadcast",
        ),
        (lambda: asc.sweep("load2d", [], "text"), asc.ParamError, "be an array"),
        (lambda: asc.sweep("load2d", [], [[["x"]]]), asc.ParamError, "fit|tell"),
        (
            lambda: asc.sweep("load2d", [{}], np.zeros((2, 4), "int8")),
            asc.BoundsError,
            "one for each of the 1 cases",
        ),
        (
            lambda: asc.sweep("load2d", [{}], L1, src_offset=[1, 2]),
            asc.BoundsError,
            "src_offset must be one number",
        ),
        (
            lambda: jax.jit(lambda x: asc.sweep("load2d", [{}], x)[0])(L1),
            asc.ParamError,
            "src must be a concrete array, got a tracer",
        ),
        (
            lambda: asc.sweep("load2d", [{}], L1, product="910Z"),
            asc.SupportError,
            "product must be one of",
        ),
        (
            lambda: asc.sweep("load2d", [{}], L1, overlap="first"),
            asc.ParamError,
            "overlap must be one of",
        ),
    ],
)
def test_what_is_wrong_with_the_whole_sweep_is_an_error(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_fields_that_are_missing_or_unknown_are_a_status():
    info = {"loop_src_stride": [1], "loop_dst_stride": [1], "loop_size": [8]}
    cases = [
        {"loop_info": info},
        {},
        {"loop_info": {**info, "loop_sise": [1]}},
        {"loop_info": {"loop_size": [8]}},
        {"loopSrcStride": [1], "loopDstStride": [1], "loopSize": [8]},
        {"loop_info": 3},
    ]
    found = asc.sweep("nddma", cases, L1)
    assert found.status.tolist() == ["ok", "param", "param", "param", "ok", "param"]
    np.testing.assert_array_equal(found[0], L1[:8])
    for k, text in {
        1: "nddma: fields must be among .*, got missing loop_info",
        2: "unknown loop_sise. Name the fields of NdDmaLoopInfo",
        3: "missing loop_src_stride, loop_dst_stride",
        5: "made with NdDmaLoopInfo",
    }.items():
        with pytest.raises(asc.ParamError, match=text):
            raise found.errors[k]


def test_a_struct_inside_is_a_mapping_too():
    for cases in (
        {"block_count": 1, "block_len": 3, "pad_params": {"right_padding": 1}},
        {"blockCount": 1, "blockLen": 3, "padParams": {"rightPadding": 1}},
    ):
        (params,) = asc.sweep("data_copy_pad", [cases], L1).params
        assert params.pad_params.right_padding == 1


def test_moves_are_made_as_batches_take_them(monkeypatch):
    """Checks on the host and batches on devices overlap, and few moves are held."""
    made, ran = [], []
    of, launch = asc.Move.of, Run._launch
    monkeypatch.setattr(asc.Move, "of", lambda *a, **k: made.append(0) or of(*a, **k))
    monkeypatch.setattr(Run, "_launch", lambda *a: ran.append(len(made)) or launch(*a))
    cases = {"repeat_times": [1] * 60}
    asc.sweep("load2d", cases, L1, memory=1 << 20, devices=jax.devices()[:1])
    assert ran[0] < len(made) == 60


def test_a_destination_of_another_type_is_a_status():
    found = asc.sweep("load2d", [{"repeat_times": 1}], L1, dst=np.zeros(512, "int32"))
    assert found.status.tolist() == ["param"]


def test_a_traced_field_names_the_sweep():
    with pytest.raises(asc.ParamError, match="under one compilation with asc"):
        jax.jit(lambda n: asc.LoadData2DParams(repeat_times=n))(1)


def test_the_host_applies_as_the_programs_do():
    for job in samples()[::9]:
        np.testing.assert_array_equal(on_host(job), by_map(job))
