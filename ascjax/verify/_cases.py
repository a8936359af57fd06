"""Case files: what they hold, told apart by content (docs/case-files.md).

Whatever is wrong with a file is said in one line, before anything is checked.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._dtypes import TYPES, ascend_type
from .._errors import AscendError
from ..instr import REGISTRY
from ._entry import CaseFileError, Entry, Step, json_name
from ._members import OPERAND, SCENARIO, of_case


@dataclasses.dataclass(frozen=True)
class DumpFiles:
    """Where the buffers of a dump lie, as the case names them: "x.bin", "x.npy",
    "x.npz:member", "x.safetensors:name".

    Attributes:
      src, dst_after: what the source held, and the destination after the calls.
      dst_before: what the destination held before; None where nobody kept it, so that
        only what is written is compared.
      sizes: elements of source and destination; None where the files say.
      may_lack_before: whether `dst_before` may be missing where it is named.
    """

    src: str
    dst_after: str
    dst_before: str | None = None
    sizes: tuple[int | None, int | None] = (None, None)
    may_lack_before: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Calls in order on one destination, and the map that they must leave.

    Attributes:
      id, file: the case's name, and the file that it stands in.
      steps: the calls; a later one wins.
      product, path: None where the case leaves them out of the check.
      dtype: the Ascend C type.
      src_size, dst_size: what the buffers hold, in elements.
      overlap: "error" or "last", as `Move.of` takes it.
      golden: the given map, one integer a destination element, or None.
      why: the rule that the case breaks, where it must be refused; else None.
      error, field: the error's class and field that it must be refused with, each None
        where any will do.
      documented: False where the case holds only for chips as built.
      dump: the buffers of a run of the calls, which the moves must explain, or None;
        then sizes may be 0 until they are read.
    """

    id: str
    file: str
    steps: tuple[Step, ...]
    product: str | None
    path: str | None
    dtype: str
    src_size: int
    dst_size: int
    overlap: str = "error"
    golden: np.ndarray | None = None
    why: str | None = None
    error: str | None = None
    field: str | None = None
    documented: bool = True
    dump: DumpFiles | None = None

    @property
    def site(self) -> tuple[str | None, str | None]:
        """Product and path."""
        return self.product, self.path

    @property
    def instruction(self) -> str:
        """The first call's; the others' as a rule too."""
        return self.steps[0].instruction


@dataclasses.dataclass(frozen=True)
class Operand:
    """How one matrix of a scenario comes from GM through L1 to L0.

    Attributes:
      side: "a" or "b".
      rows, columns: the real elements of the matrix in L0: m x k for A, n x k for B.
      transpose: whether GM holds the transpose, row by row, of what stands in L0.
      gm_to_l1, l1_to_l0: the calls.
      l0_shape, l0_fractal: rows and columns of the padded matrix, and of a fractal.
      l0_outer: order of the fractals, "row" or "column".
    """

    side: str
    rows: int
    columns: int
    transpose: bool
    gm_to_l1: tuple[Step, ...]
    l1_to_l0: tuple[Step, ...]
    l0_shape: tuple[int, int]
    l0_fractal: tuple[int, int]
    l0_outer: str


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A matmul's way in: A and B from GM to L1 to L0A and L0B."""

    id: str
    file: str
    product: str
    dtype: str
    operands: tuple[Operand, ...]
    instruction: str = "scenario"

    @property
    def site(self) -> tuple[str, None]:
        """The product; paths are the steps' own."""
        return self.product, None

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every call of both operands."""
        return sum((o.gm_to_l1 + o.l1_to_l0 for o in self.operands), ())


def unit_bits(instruction: str, dtype: Any) -> int:
    """Bits of what an instruction counts: its elements, but bytes where it counts
    4-bit types in pairs.

    >>> unit_bits("load2d", "int4b_t"), unit_bits("nd2nz", "int4b_t")
    (4, 8)
    """
    t = ascend_type(dtype)
    return (REGISTRY[instruction].counted(t) if instruction in REGISTRY else t).bits


def read_cases(path: Path) -> list[Case | Scenario]:
    """All cases of one file, with the maps of the .npz that lies beside it.

    Raises:
      CaseFileError: what cannot be read, is missing, or contradicts itself.
    Source: docs/case-files.md.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.json")
    ...     _ = file.write_text('''[{"id": "first", "instruction": "load2d",
    ...         "product": "atlas_a2", "path": "A1->A2", "dtype": "half",
    ...         "fields": {"repeatTimes": 1}, "src_size": 256, "dst_size": 256}]''')
    ...     case, = read_cases(file)
    >>> case.id, case.steps[0].fields, case.golden is None
    ('first', {'repeatTimes': 1}, True)
    """
    file = str(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a file or directory that exists and that you may read."
        raise CaseFileError(file, "the file", "be readable", got, fix) from None
    except (ValueError, RecursionError) as error:
        fix = "Name the .json file; its maps are found beside it."
        got = " ".join(str(error).split())
        raise CaseFileError(file, "the file", "be JSON text", got, fix) from None
    if not isinstance(data, list) or not data:
        got = "an empty list" if data == [] else json_name(data)
        rule, fix = "hold a list of cases", "Write [{...}, ...]."
        raise CaseFileError(file, "the file", rule, got, fix)
    entries = [Entry(file, f"case {k}", entry) for k, entry in enumerate(data)]
    cases = [_case(entry, f"{path.stem}[{k}]") for k, entry in enumerate(entries)]
    named = [case.id for case in cases]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        fix = "Give each case a name of its own."
        raise CaseFileError(file, "id", "be used once in a file", twice, fix)
    maps = path.with_suffix(".npz")
    if maps.exists() and any(_wants_map(case) for case in cases):
        cases = list(_with_maps(cases, maps))
    return cases


def _wants_map(case: Case | Scenario) -> bool:
    return isinstance(case, Case) and case.why is None and case.dump is None


def _with_maps(cases: list[Case | Scenario], path: Path) -> Iterator[Case | Scenario]:
    """The cases with their maps, each checked for its form."""
    file = str(path)
    try:
        with path.open("rb") as opened:  # np.load leaves a damaged one open
            held = np.load(opened, allow_pickle=False)
            if isinstance(held, np.ndarray):
                raise ValueError("one array, no archive of them")
            maps = {name: held[name] for name in held.files}
    except Exception as error:  # on damaged data NumPy raises nearly anything
        got = f"{type(error).__name__} ({' '.join(str(error).split())})"
        fix = "Write it again with numpy.savez, one integer array a case."
        rule = "be a readable .npz of NumPy arrays"
        raise CaseFileError(file, "the file", rule, got, fix) from None
    for case in cases:
        if isinstance(case, Scenario) or not _wants_map(case):
            yield case
            continue
        field = f"the map of {case.id}"
        if case.id not in maps:
            fix = "Add it, or take the .npz away to compare with the oracle only."
            raise CaseFileError(file, field, "be in the file", "none", fix)
        golden = maps[case.id]
        if golden.dtype.kind not in "iu" or golden.shape != (case.dst_size,):
            rule = f"be ({case.dst_size},) integers, one a destination element"
            got = f"{golden.shape} of {golden.dtype}"
            raise CaseFileError(file, field, rule, got, "Correct the map or dst_size.")
        yield dataclasses.replace(case, golden=golden.astype(np.int64))


def _case(entry: Entry, default_id: str) -> Case | Scenario:
    """One case, by what its object holds."""
    data = entry.data
    name = data.get("id", default_id)
    if not isinstance(name, str) or not name:
        raise entry.error("id", "be a string", json_name(name))
    entry.name = name
    forms = [form for form in ("fields", "calls") if form in data]
    if not forms and {"a", "b"} & data.keys():
        return _scenario(entry)
    if len(forms) != 1:
        got = " and ".join(forms) or f"only {', '.join(data) or 'nothing'}"
        raise entry.error("", "hold either fields, or calls, or a and b", got)
    instruction = entry.instruction()
    entry.check_members(of_case(instruction, "calls" in data))
    if "calls" in data:
        steps = entry.steps("calls", instruction)
    else:
        steps = (entry.step(instruction),)
    why = entry.take("why", "text", None)
    dump = _dump(entry)
    if dump and why is not None:
        got = "a dump with it"
        raise entry.error("why", "stand in a case of its own", got)
    case = Case(
        id=name,
        file=entry.file,
        steps=steps,
        product=entry.word("product"),
        path=entry.word("path"),
        dtype=entry.take("dtype", "text"),
        src_size=entry.size("src_size", needed=not dump),
        dst_size=entry.size("dst_size", needed=not dump),
        overlap=entry.take("overlap", "text", "error"),
        why=why,
        error=why and _error(entry),
        field=why and entry.take("field", "text", None),
        documented=entry.take("documented", "flag", True),
        dump=dump,
    )
    _check_itembits(entry, case)
    return case


def _dump(entry: Entry) -> DumpFiles | None:
    """Where the buffers of a dump lie; None where the case is none."""
    names = ("src", "dst_after", "dst_before")
    whole = entry.take("dump", "text", None)
    beside = [name for name in names if name in entry.data]
    if whole is not None:
        if beside:
            raise entry.error("dump", "stand for all buffers", f"{beside[0]} beside it")
        members = {name: f"{whole}:{name}" for name in names}
    elif beside:
        members = {name: entry.take(name, "text") for name in names[:2]}
        members["dst_before"] = entry.take("dst_before", "text", None)
    else:
        return None
    sizes = [
        entry.size(name) if name in entry.data else None
        for name in ("src_size", "dst_size")
    ]
    return DumpFiles(
        **members, sizes=(sizes[0], sizes[1]), may_lack_before=whole is not None
    )


def _error(entry: Entry) -> str | None:
    """The class of error that a case must be refused with, or None."""
    name = entry.take("error", "text", None)
    classes = [AscendError, *AscendError.__subclasses__()]
    known = [cls.__name__ for cls in classes if cls is not CaseFileError]
    if name is not None and name not in known:
        raise entry.error("error", f"be one of {', '.join(known)}", name)
    return name


def _check_itembits(entry: Entry, case: Case) -> None:
    """Refuse an `itembits` that is not the width of the type."""
    given = entry.take("itembits", "integer", None)
    t = TYPES.get(case.dtype)
    if given is None or t is None or case.instruction not in REGISTRY:
        return  # the check of the case says what is wrong with type or instruction
    if given not in (t.bits, unit_bits(case.instruction, t)):
        raise entry.error("itembits", f"be {t.bits}, the width of {t}", given)


def _scenario(entry: Entry) -> Scenario:
    if "why" in entry.data:
        raise entry.error("why", "stand beside fields or calls", "a scenario with it")
    entry.check_members(SCENARIO)
    m, n, k = (entry.size(name) for name in "mnk")
    operands = []
    for side, rows in (("a", m), ("b", n)):
        data = entry.take(side, "object")
        one = Entry(entry.file, f"{side} of {entry.name}", data)
        one.check_members(OPERAND)
        transpose = one.take("transpose", "flag")
        held = (k, rows) if transpose else (rows, k)
        if one.pair("gm_shape") != held:
            rule = f"be {list(held)}, by m, n, k and transpose"
            raise one.error("gm_shape", rule, data["gm_shape"])
        outer = one.take("l0_outer", "text")
        if outer not in ("row", "column"):
            raise one.error("l0_outer", "be 'row' or 'column'", repr(outer))
        operand = Operand(
            side=side,
            rows=rows,
            columns=k,
            transpose=transpose,
            gm_to_l1=one.steps("gm_to_l1", None),
            l1_to_l0=one.steps("l1_to_l0", None),
            l0_shape=one.pair("l0_shape"),
            l0_fractal=one.pair("l0_fractal"),
            l0_outer=outer,
        )
        if operand.l0_shape[0] < rows or operand.l0_shape[1] < k:
            rule = f"hold the {rows} x {k} real elements"
            raise one.error("l0_shape", rule, list(operand.l0_shape))
        operands.append(operand)
    product, dtype = entry.take("product", "text"), entry.take("dtype", "text")
    return Scenario(entry.name, entry.file, product, dtype, tuple(operands))
