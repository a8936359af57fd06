"""One object of a case file as a case, told apart by content."""

from __future__ import annotations

from .._dtypes import TYPES
from .._errors import AscendError
from ..instr import REGISTRY
from ._cases import Case, DumpFiles, Operand, Scenario, unit_bits
from ._entry import Entry, json_name
from ._members import OPERAND, SCENARIO, of_case


def case_of(entry: Entry, default_id: str) -> Case | Scenario:
    """One case, by what its object holds.

    Raises:
      CaseFileError: for what is missing, a slip, or contradicts itself.
    """
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
    beside = [name for name in ("src", "dst_after", "dst_before") if name in entry.data]
    whole = entry.take("dump", "text", None)
    src, dst = (
        entry.size(name) if name in entry.data else None
        for name in ("src_size", "dst_size")
    )
    if whole is not None:
        if beside:
            raise entry.error("dump", "stand for all buffers", f"{beside[0]} beside it")
        return DumpFiles.all_in(whole, (src, dst))
    if not beside:
        return None
    return DumpFiles(
        entry.take("src", "text"),
        entry.take("dst_after", "text"),
        entry.take("dst_before", "text", None),
        (src, dst),
    )


def _error(entry: Entry) -> str | None:
    """The class of error that a case must be refused with, or None."""
    name = entry.take("error", "text", None)
    classes = (AscendError, *AscendError.__subclasses__())
    known = [
        cls.__name__ for cls in classes if cls.__module__ == AscendError.__module__
    ]
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
