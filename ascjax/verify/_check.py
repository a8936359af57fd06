"""One case, checked: every way to its map, and what the ways found."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from .. import oracle
from .._errors import AscendError, BoundsError, OverlapError
from .._move import Move
from .._nest import FILL, KEEP
from ..instr import REGISTRY
from ..sweeps._code import Code, encode
from ._cases import Case, Scenario, unit_bits
from ._documents import UNSTATED
from ._engine import make_move, trace
from ._names import COMPUTES, lacking, site_of
from ._op_map import op_map
from ._result import WAYS, Mismatch, Status, first_difference
from ._result import Result as Result
from ._scenario import check_scenario


def check_case(case: Case | Scenario, *, through_op: bool = False) -> Result:
    """One case's result. Whatever a case does, it comes back as a result.

    Args:
      case: from `read_cases`.
      through_op: also run the case through its own jitted op.

    >>> from ascjax import verify
    >>> step = verify.Step("load2d", {"repeatTimes": 2, "srcStride": 1})
    >>> case = Case("mine", "", (step,), "atlas_a2", "A1->A2", "half", 512, 512)
    >>> check_case(case).status
    'ok'
    """
    check = Check(case, through_op=through_op)
    check.by_maps()
    check.by_op()
    return check.result()


@dataclasses.dataclass(eq=False)
class Check:
    """A case, and what has been found of it so far.

    Attributes:
      case: legal, unless `case.why` says which rule it breaks.
      stated: what a document says of the result, or None.
      through_op: whether it also goes through its own jitted op.
      move: the engine's, once it is made.
      ended: what the case came to other than a comparison, or "".
      message: the first difference, or what it came to, in words.
      first: the first difference as data.
      wrong: which elements differ, one flag for each that is compared.
      compared: the ways that were compared.
      seconds: what making and comparing the maps took.
      op_seconds: what its own op took, compiling included.
    """

    case: Case | Scenario
    stated: np.ndarray | None = None
    through_op: bool = False
    move: Move | None = None
    ended: Status | None = None
    message: str = ""
    first: Mismatch | None = None
    wrong: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, bool))
    compared: tuple[str, ...] = ()
    seconds: float = 0.0
    op_seconds: float = 0.0

    def by_maps(self) -> None:
        """The engine's map against the given one, the document's and the oracle's."""
        if self.ended:
            return
        started = time.perf_counter()
        try:
            self._by_maps()
        except AscendError as error:
            said = "refused"
            if _oracle_accepts(self.case, error):
                said = "the oracle accepts it, the engine refuses"
            self.end("error", f"{said}: {error}")
        except Exception as error:  # whatever is at fault, the next case is checked
            self.end("error", one_line(error))
        self.seconds += time.perf_counter() - started

    def encoded(self) -> Code | None:
        """What the interpreter runs; None where there is no single call to run."""
        if self.move is None or self.ended or len(self.move.calls) > 1:
            return None
        try:
            return encode(self.move.nests[0])
        except AscendError as error:
            self.end("error", str(error))
            return None

    def by_interpreter(self, index: np.ndarray, seconds: float) -> None:
        """The interpreter's map against the engine's; its share of the time."""
        self._compare("interpreter", _codes(self.move), index)
        self.seconds += seconds

    @property
    def runs_op(self) -> bool:
        """Whether an op is still to run."""
        return self.move is not None and self.through_op

    def by_op(self) -> None:
        """What its own jitted op leaves, against the engine's map."""
        if self.move is None or self.ended or not self.runs_op:
            return
        started = time.perf_counter()
        try:
            self._compare("op", self.move.index_map.index, op_map(self.move))
        except AscendError as error:
            self.end("error", f"the op refuses: {error}")
        except Exception as error:
            self.end("error", f"the op fails: {one_line(error)}")
        self.op_seconds += time.perf_counter() - started

    def end(self, status: Status, message: str) -> None:
        """What the case comes to, where that is no comparison."""
        self.ended, self.message = status, message

    def result(self) -> Result:
        """What became of it."""
        wrong = int(self.wrong.sum())
        return Result.of(
            self.case,
            self.ended or ("mismatch" if wrong else "ok"),
            elements=self.wrong.size,
            mismatches=wrong,
            message=self.message,
            compared=self.compared,
            seconds=self.seconds,
            op_seconds=self.op_seconds,
            first=self.first,
        )

    def _by_maps(self) -> None:
        case = self.case
        if case.instruction in COMPUTES and isinstance(case, Case):
            return self.end(*without_map(case))
        missing = {step.instruction for step in case.steps} - REGISTRY.keys()
        if missing:
            return self.end("unsupported", lacking(missing))
        if isinstance(case, Scenario):
            self.wrong, self.message = check_scenario(case)
            return
        if not case.documented:
            only = "holds for chips as built only, which ascjax does not have"
            return self.end("unsupported", only)
        if case.why is not None:
            return self.end(*_refusal(case))
        if case.dump is not None:
            said = "is a dump, which ascjax.dumps.check_dumps checks"
            return self.end("error", said)
        self.move = make_move(case)
        codes = _codes(self.move)
        if case.golden is not None:
            self._compare("map", case.golden, codes)
        if self.stated is not None:
            stated = np.where(self.stated == UNSTATED, codes, self.stated)
            self._compare("document", stated, codes)
        if all(step.instruction in oracle.INSTRUCTIONS for step in case.steps):
            try:
                expected = oracle_map(case)
            except AscendError as error:
                text = f"the engine accepts it, the oracle refuses: {error}"
                return self.end("error", text)
            self._compare("oracle", expected, codes)
        if not self.compared:
            text = f"nothing to compare with: the oracle has no {case.instruction}"
            beside = f", and no map is in an .npz beside {case.file}"
            self.end("error", text + beside if case.file else text)

    def _compare(self, way: str, expected: np.ndarray, arrived: np.ndarray) -> None:
        self.compared += (way,)
        differs = expected != arrived
        self.wrong = self.wrong | differs if self.wrong.size else differs
        if differs.any() and not self.message and self.move is not None:
            bits = unit_bits(self.case.instruction, self.move.type)
            text = first_difference(expected, arrived, self.move, bits)
            at, path = int(differs.argmax()), self.move.path
            codes = str(expected[at]), str(arrived[at])
            self.first = Mismatch.at(at, path and path.split("->")[1], bits, *codes)
            self.message = f"{WAYS[way][0]}: {text}"


def _codes(move: Move | None) -> np.ndarray:
    """The engine's map, with one code for every padding, as the others have it."""
    return np.maximum(move.index_map.index, FILL)  # pyright: ignore[reportOptionalMemberAccess]


def without_map(case: Case) -> tuple[Status, str]:
    """What a case comes to whose instruction is no move: its params, product and type
    are checked, so that one that must be refused may be."""
    struct = COMPUTES[case.instruction]
    try:
        where, path = site_of(*case.site, case.instruction)
        for step in case.steps:
            params = struct.from_fields(step.fields)
            site = struct.site(where, path, case.dtype)
            params.check_support(site)
            params.rules(site)
    except AscendError as error:
        return (
            _judged(case, error)
            if case.why is not None
            else ("error", f"refused: {error}")
        )
    told = f"{case.instruction} has several sources and no map; the built-in suite "
    return "unsupported", told + "compares its values"


def _refusal(case: Case) -> tuple[Status, str]:
    """What tracing a case comes to that must be refused, and the reason."""
    rule = f"must be refused ({case.why})"
    try:
        trace(case)
    except AscendError as error:
        return _judged(case, error)
    except Exception as error:
        told = f"but raised {one_line(error)}, which is no AscendError"
        return "error", f"{rule}, {told}"
    return "error", f"{rule}, but was accepted"


def _judged(case: Case, error: AscendError) -> tuple[Status, str]:
    """Whether a refusal is the one that the case asks for."""
    rule = f"must be refused ({case.why})"
    names = [cls.__name__ for cls in type(error).__mro__]
    told = f"{names[0]}: {error}"
    if case.error is not None and case.error not in names:
        return "error", f"{rule} with {case.error}, but was with {told}"
    if case.field not in (None, error.field, error.field.partition("[")[0]):
        return "error", f"{rule} for {case.field}, but was for {error.field}: {told}"
    return "refused", told


def _oracle_accepts(case: Case | Scenario, error: AscendError) -> bool:
    """Whether the oracle takes a case that the engine refuses for bounds or overlap,
    which are all that it checks itself."""
    if isinstance(case, Scenario) or not isinstance(error, BoundsError | OverlapError):
        return False
    try:
        oracle_map(case)
    except Exception:
        return False
    return True


def oracle_map(case: Case) -> np.ndarray:
    """The map that the oracle's calls leave: element numbers moved, not values."""
    src = np.arange(case.src_size, dtype=np.int32)
    dst = np.full(case.dst_size, KEEP, np.int32)
    for step in case.steps:
        product, path = site_of(*case.site, step.instruction)
        dst = oracle.run(
            step.instruction,
            step.fields,
            unit_bits(step.instruction, case.dtype),
            src,
            dst,
            src_offset=step.src_offset,
            dst_offset=step.dst_offset,
            pad=FILL,
            overlap=case.overlap,
            product=product and product.key,
            path=path,
        )
    return dst


def one_line(error: Exception) -> str:
    """An unexpected error, for a report."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
