"""Dumps of every move instruction, some with a fault that somebody could have made.

What a kernel "really left" is the oracle's, in NumPy loops, and never the engine's: the
claimed call on clean dumps, another call, or damage, on those with a fault. A fault is
drawn anew for these reasons only, which have nothing to do with who looks for it: the
call that is to run in place of the claimed one is none by the documents or leaves its
buffers; or what it leaves is what the claimed one leaves, so that nobody could see it.
"""

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascjax import AscendError, oracle
from ascjax._dtypes import TYPES
from ascjax._fill import Constant
from ascjax.instr import REGISTRY, Site
from ascjax.verify._samples import sample
from ascjax.verify._suite import combinations

PADS = {"constantValue", "padValue", "paddingValue"}
ROOM = 512  # elements behind both operands, into which a fault may reach
LARGEST = 8192  # elements of a buffer


class Call(NamedTuple):
    """A call as a case file has it, and its type."""

    instruction: str
    fields: dict[str, Any]
    src_offset: int
    dst_offset: int
    dtype: str


@dataclasses.dataclass
class Dump:
    """A claimed call and its buffers, one entry an element.

    Attributes:
      claim: what the case says.
      site: its product, path and type.
      src, before, after: the buffers.
      kind: the fault's, or None.
      cause: the call that really ran, or words of what a diagnosis must say.
    """

    claim: Call
    site: Site
    src: np.ndarray
    before: np.ndarray
    after: np.ndarray
    kind: str | None = None
    cause: Call | str = ""


# --- what really ran


def bits_of(call: Call) -> int:
    """The width of what a call counts."""
    return REGISTRY[call.instruction].counted(TYPES[call.dtype]).bits


def ran(call: Call, site: Site, src: np.ndarray, before: np.ndarray) -> np.ndarray:
    """What the oracle leaves of a call. Buffers are those of the claimed width, which
    another one reads as its own."""
    bits = bits_of(call)
    word = f"uint{max(8, bits)}"
    if bits >= 8:
        src, before = src.view(word), before.view(word)
    return oracle.run(
        call.instruction,
        call.fields,
        bits,
        src,
        before,
        src_offset=call.src_offset,
        dst_offset=call.dst_offset,
        pad=padding(call, word),
        product=site.product and site.product.key,
        path=site.path,
    )


def padding(call: Call, word: str) -> Any:
    """The bits of a call's padding value, as NumPy casts and stores it."""
    held = {**call.fields, **call.fields.get("padParams", {})}
    value = next((held[name] for name in PADS if name in held), 0)
    if value == 0 and not isinstance(value, float | dict):  # zero bits in every type
        return 0
    value = Constant.of(value).value
    carrier = np.dtype(REGISTRY[call.instruction].counted(TYPES[call.dtype]).carrier)
    if isinstance(value, int) and carrier.kind in "iu":
        return np.array(value % 2 ** (8 * carrier.itemsize), word)[()]
    return np.asarray(value).astype(carrier).view(word)[()]


# --- faults: each gives what ran in place of a claimed call, or None


Draw = Callable[[int, int], int]


def numbers(fields: dict, keys: tuple = ()) -> list[tuple]:
    """The ways to all integers of fields, in lists and objects too."""
    found = []
    for name, value in fields.items():
        if isinstance(value, dict) and "hex" not in value:
            found += numbers(value, (*keys, name))
        elif isinstance(value, list):
            found += [(*keys, name, k) for k in range(len(value))]
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append((*keys, name))
    return [way for way in found if not set(way) & PADS]


def get(fields: dict, way: tuple) -> Any:
    for key in way:
        fields = fields[key]
    return fields


def put(call: Call, *changes: tuple[tuple, Any]) -> Call:
    fields = copy.deepcopy(call.fields)
    for way, value in changes:
        get(fields, way[:-1])[way[-1]] = value
    return call._replace(fields=fields)


def some(draw: Draw, items: list) -> Any:
    return items[draw(0, len(items) - 1)] if items else None


def named(call: Call, *words: str) -> list[tuple]:
    """The ways to the numbers whose name has one of these words."""
    return [
        way
        for way in numbers(call.fields)
        if any(word in str(key).lower() for key in way for word in words)
    ]


def step(words: tuple[str, ...], by: int):
    """One field of some, `by` more."""

    def fault(call: Call, site: Site, draw: Draw) -> Call | None:
        way = some(draw, named(call, *words))
        return way and put(call, (way, get(call.fields, way) + by))

    return fault


def other_unit(call: Call, site: Site, draw: Draw) -> Call | None:
    """A stride, gap or length in bytes, elements or blocks in place of its own unit."""
    way = some(draw, named(call, "stride", "gap", "len"))
    times = some(draw, [2, 16, 32, 512])
    if way is None:
        return None
    value = get(call.fields, way)
    if draw(0, 1) and value % times == 0:
        return put(call, (way, value // times))
    return put(call, (way, value * times))


def gap_as_stride(call: Call, site: Site, draw: Draw) -> Call | None:
    """A gap, counted from the end of what was moved, is given as the whole stride."""
    way = some(draw, named(call, "gap"))
    length = next(iter(named(call, "blocklen", "blockcount", "length")), None)
    if way is None:
        return None
    size = get(call.fields, length) if length else 1
    return put(call, (way, get(call.fields, way) + size))


ROWS = {
    "nd2nz": ("srcDValue", "dValue"),
    "nz2nd": ("dstDStride", "dValue"),
    "fixpipe": ("dstStride", "nSize"),
}
"""A row's stride, and how long a row is, in elements both."""


def stride_as_gap(call: Call, site: Site, draw: Draw) -> Call | None:
    """A row's stride was read as the gap behind the row."""
    if call.instruction not in ROWS:
        return None
    stride, length = ROWS[call.instruction]
    return put(call, ((stride,), call.fields[stride] + call.fields[length]))


def exchanged(call: Call, site: Site, draw: Draw) -> Call | None:
    """Two fields in each other's place."""
    ways = numbers(call.fields)
    a, b = some(draw, ways), some(draw, ways)
    if a is None or a == b:
        return None
    return put(call, (a, get(call.fields, b)), (b, get(call.fields, a)))


def two_off(call: Call, site: Site, draw: Draw) -> Call | None:
    """Two fields one off."""
    ways = numbers(call.fields)
    a, b = some(draw, ways), some(draw, ways)
    if a is None or a == b:
        return None
    return put(call, *((w, get(call.fields, w) + 2 * draw(0, 1) - 1) for w in (a, b)))


def flag(call: Call, site: Site, draw: Draw) -> Call | None:
    """A flag set, or left out."""
    held = [
        (name,)
        for name, field in REGISTRY[call.instruction].c_fields().items()
        if field.kind == "flag" and "." not in name
    ]
    way = some(draw, held)
    return way and put(call, (way, not call.fields.get(way[0], False)))


def src_start(call: Call, site: Site, draw: Draw) -> Call | None:
    """The source starts a block (32 bytes) later."""
    return call._replace(src_offset=call.src_offset + 256 // bits_of(call))


def dst_start(call: Call, site: Site, draw: Draw) -> Call | None:
    """The destination starts a block later."""
    return call._replace(dst_offset=call.dst_offset + 256 // bits_of(call))


def width(call: Call, site: Site, draw: Draw) -> Call | None:
    """The call ran with elements of another width."""
    other = some(draw, ["int8_t", "half", "float"])
    ours, theirs = bits_of(call), TYPES[other].bits
    starts = [x * ours for x in (call.src_offset, call.dst_offset)]
    if ours == theirs or ours < 8 or any(x % theirs for x in starts):
        return None
    src_offset, dst_offset = (x // theirs for x in starts)
    return call._replace(dtype=other, src_offset=src_offset, dst_offset=dst_offset)


def version(call: Call, site: Site, draw: Draw) -> Call | None:
    """V1 fields given to V2, or V2 fields to V1, those that both have."""
    others = {"ldwt_v1": "ldwt_v2", "ldwt_v2": "ldwt_v1", "load2dv2": "load2d"}
    other = others.get(call.instruction)
    if other is None:
        return None
    known = REGISTRY[other].c_fields()
    shared = {name: x for name, x in call.fields.items() if name in known}
    return call._replace(instruction=other, fields=shared)


def pad_value(call: Call, site: Site, draw: Draw) -> Call | None:
    """Another padding value: zero."""
    for way in [(name,) for name in PADS] + [("padParams", "paddingValue")]:
        try:
            held = Constant.of(get(call.fields, way)).value
        except (KeyError, TypeError):
            continue
        if held:
            return put(call, (way, 0))
    return None


CALLS = {
    "gap one more": step(("gap",), 1),
    "stride one more": step(("stride",), 1),
    "stride one less": step(("stride",), -1),
    "count one less": step(("times", "count", "num", "value", "loopsize"), -1),
    "count one more": step(("times", "count", "num", "value", "loopsize"), 1),
    "start one more": step(("start", "index", "position"), 1),
    "another unit": other_unit,
    "gap given as stride": gap_as_stride,
    "stride read as gap": stride_as_gap,
    "two fields exchanged": exchanged,
    "two fields one off": two_off,
    "flag": flag,
    "source a block later": src_start,
    "destination a block later": dst_start,
    "another width": width,
    "fields of another version": version,
    "padding value": pad_value,
}
"""Another call: the fault's kind, and how to make it."""


def stopped(dump: Dump, rng: np.random.Generator) -> None:
    """Before the end: what is written last, in the oracle's order, is not."""
    product = dump.site.product and dump.site.product.key
    where = {"product": product, "path": dump.site.path}
    call = dump.claim
    batches = oracle.writes(call.instruction, call.fields, bits_of(call), **where)
    order = call.dst_offset + np.concatenate([to for to, _ in batches])
    late = order[order.size // 3 :]
    dump.after[late] = dump.before[late]


def nothing(dump: Dump, rng: np.random.Generator) -> None:
    """The kernel never ran."""
    dump.after[:] = dump.before


def reversed_bytes(dump: Dump, rng: np.random.Generator) -> None:
    """The dump was written in the other byte order."""
    dump.after[:] = dump.after.byteswap()


def damaged(dump: Dump, rng: np.random.Generator) -> None:
    """Two elements, one bit each."""
    dump.after[rng.choice(dump.after.size, 2, replace=False)] ^= 1


def files_exchanged(dump: Dump, rng: np.random.Generator) -> None:
    """dst_before and dst_after in each other's place."""
    dump.before, dump.after = dump.after, dump.before


def nibbles(dump: Dump, rng: np.random.Generator) -> None:
    """Of packed 4-bit elements the odd one in the low nibble."""
    dump.after[:] = dump.after.reshape(-1, 2)[:, ::-1].reshape(-1)


def stale(dump: Dump, rng: np.random.Generator) -> None:
    """The kernel read another source than the one that was kept."""
    dump.src = _random(rng, bits_of(dump.claim), dump.src.size)


WORDS = {
    "stopped early": (stopped, "it had stopped after"),
    "nothing written": (nothing, "nothing had been written"),
    "bytes reversed": (reversed_bytes, "the bytes of each element were in reverse"),
    "damaged": (damaged, "2 elements were damaged (2 bits)"),
    "before and after exchanged": (
        files_exchanged,
        "dst_before and dst_after were exchanged",
    ),
    "nibbles swapped": (nibbles, "the two halves of each byte were exchanged"),
    "another source": (stale, "the source was another one"),
}
"""Damage: how it is done, and what a diagnosis must say first."""

KINDS = (*CALLS, *WORDS)


# --- dumps


def _random(rng: np.random.Generator, bits: int, size: int) -> np.ndarray:
    """All different as far as the width allows, else random."""
    word = f"uint{max(8, bits)}"
    if bits >= 16:
        start = int(rng.integers(0, 2 ** min(bits, 62)))
        mask = np.uint64(2**bits - 1)
        spread = np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits) | np.uint64(1)
        numbers = np.arange(size, dtype="uint64") + np.uint64(start)
        return (numbers * spread & mask).astype(word)
    return rng.integers(0, 2**bits, size).astype(word)


def clean(rng: np.random.Generator, sites: list[tuple[str, Site]]) -> Dump:
    """A legal call, and what it leaves."""
    draw = lambda low, high: int(rng.integers(low, high + 1))  # noqa: E731
    while True:
        instruction = some(draw, [*REGISTRY])
        site = some(draw, [site for name, site in sites if name == instruction])
        made = sample(instruction, site, draw, nop=False)
        if max(made.src_size, made.dst_size) > LARGEST:
            continue
        fields = made.params.to_fields()
        if fields.get("quantPre", "NoQuant") != "NoQuant" or fields.get("reluEn"):
            continue  # values: no part of a map, and of the oracle's moves
        starts = (made.src_offset, made.dst_offset)
        call = Call(instruction, fields, *starts, site.type.name)
        even = 8 * -(-max(made.src_size, made.dst_size) // 8) + ROOM
        bits = bits_of(call)
        src, before = (_random(rng, bits, even) for _ in range(2))
        return Dump(call, site, src, before, ran(call, site, src, before))


def faulty(rng: np.random.Generator, sites: list, kind: str) -> Dump:
    """A dump with a fault of one kind."""
    draw = lambda low, high: int(rng.integers(low, high + 1))  # noqa: E731
    while True:
        dump = clean(rng, sites)
        right, bits = dump.after.copy(), bits_of(dump.claim)
        if np.array_equal(right, dump.before):
            continue  # a NOP
        dump.kind = kind
        if kind in WORDS:
            do, dump.cause = WORDS[kind]
            if kind == "nibbles swapped" and bits != 4:
                continue
            if kind == "bytes reversed" and bits < 16:
                continue
            do(dump, rng)
        else:
            call = CALLS[kind](dump.claim, dump.site, draw)
            if call is None or not legal(call, dump.site):
                continue
            try:
                after = ran(call, dump.site, dump.src, dump.before)
            except AscendError:
                continue  # it leaves its buffers
            dump.after, dump.cause = after.view(right.dtype), call
        plain = ran(dump.claim, dump.site, dump.src, dump.before)
        if not np.array_equal(plain, dump.after):
            return dump


def legal(call: Call, site: Site) -> bool:
    """Whether the documents have such a call at all."""
    try:
        params = REGISTRY[call.instruction].from_fields(call.fields)
        params.rules(params.site(site.product, site.path, call.dtype))
    except AscendError:
        return False
    return True


def dumps(seed: int, count: int, faults: int) -> list[Dump]:
    """`count` dumps, `faults` of them with faults, of all kinds in turn, at random
    places."""
    rng = np.random.default_rng(seed)
    sites = combinations()
    places = sorted(rng.choice(count, faults, replace=False).tolist())
    kinds = dict(
        zip(places, (KINDS[k % len(KINDS)] for k in range(faults)), strict=True)
    )
    return [
        faulty(rng, sites, kinds[k]) if k in kinds else clean(rng, sites)
        for k in range(count)
    ]


# --- files


def write(folder: Path, made: list[Dump]) -> None:
    """Case files of one list and of lines, with buffers in files of every kind."""
    cases = [_case(folder, k, dump) for k, dump in enumerate(made)]
    half = len(cases) // 2
    (folder / "first.json").write_text(json.dumps(cases[:half]))
    lines = "".join(json.dumps(case) + "\n" for case in cases[half:])
    (folder / "second.jsonl").write_text(lines)


def _case(folder: Path, k: int, dump: Dump) -> dict[str, Any]:
    call = dump.claim
    case = {
        "id": f"dump {k}",
        "instruction": call.instruction,
        "product": dump.site.product and dump.site.product.key,
        "path": dump.site.path,
        "dtype": call.dtype,
        "fields": call.fields,
        "src_offset": call.src_offset,
        "dst_offset": call.dst_offset,
    }
    arrays: dict[str, Any] = {
        "src": dump.src,
        "dst_before": dump.before,
        "dst_after": dump.after,
    }
    if bits_of(call) == 4:
        arrays = {name: x[0::2] | x[1::2] << 4 for name, x in arrays.items()}
    form = k % 4
    if form == 0:
        for name, array in arrays.items():
            array.tofile(folder / f"{k}.{name}.bin")
            case[name] = f"{k}.{name}.bin"
    elif form == 1:
        for name, array in arrays.items():
            np.save(folder / f"{k}.{name}.npy", array)
            case[name] = f"{k}.{name}.npy"
    elif form == 2:
        np.savez(folder / f"{k}.npz", **arrays)
        case["dump"] = f"{k}.npz"
    else:
        from safetensors.numpy import save_file

        save_file(arrays, folder / f"{k}.safetensors")
        case["dump"] = f"{k}.safetensors"
    return case


# --- what a diagnosis must say


def says(dump: Dump, told: Any) -> bool:
    """Whether a diagnosis has the cause first: by its words, or a call that leaves the
    same as the one that ran, whatever source and destination hold."""
    if not told.explanations:
        return False
    first = told.explanations[0]
    if isinstance(dump.cause, str):
        return dump.cause in first.said
    if not first.exact:
        return False
    rng = np.random.default_rng(1)
    bits = bits_of(dump.claim)
    src, before = (_random(rng, bits, x.size) for x in (dump.src, dump.before))
    wanted = ran(dump.cause, dump.site, src, before).view(before.dtype)
    if first.move is None:
        nothing = "nothing had been written" in first.said
        return (nothing and np.array_equal(wanted, before)) or _pads(dump, first)
    call = first.move.calls[0]
    named = Call(
        call.params.instruction,
        call.params.to_fields(),
        call.src_offset,
        call.dst_offset,
        first.move.type.name,
    )
    found = ran(named, dump.site, src, before).view(before.dtype)
    return np.array_equal(found, wanted)


def _pads(dump: Dump, first: Any) -> bool:
    """Whether it says the padding value that was written."""
    assert isinstance(dump.cause, Call)
    value = padding(dump.cause, dump.before.dtype.name)
    return first.said == f"the padding value had the bits {int(value):#x}"
