"""One set on its way through the suite: the ways to its map, and what they found."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from .. import oracle
from .._dtypes import TYPES
from .._errors import AscendError
from .._move import Move
from .._nest import FILL
from ._cases import Case
from ._check import check_case, oracle_map
from ._documents import UNSTATED
from ._engine import make_move
from ._interpreter import Code, encode
from ._op_map import op_map
from ._result import Result, first_difference

_NAMES = {
    "document": "against the document",
    "oracle": "against the oracle",
    "interpreter": "the interpreter against the engine's map",
    "op": "the jitted op against the engine's map",
}


@dataclasses.dataclass(eq=False)
class Check:
    """A case, and what has been found of it so far.

    Attributes:
      case: legal, unless `case.why` says which rule it breaks.
      through_op: whether it also goes through its own jitted op.
      stated: what a document says of the result, or None.
      move: the engine's, once it is made.
      error: why it came to no comparison, or "".
      message: the first difference in words, or "".
      wrong: which destination elements differ, or None.
      compared: the ways that were compared.
      seconds: what they took; the interpreter's share, a fraction of a millisecond,
        left out.
    """

    case: Case
    stated: np.ndarray | None = None
    through_op: bool = False
    move: Move | None = None
    error: str = ""
    message: str = ""
    wrong: np.ndarray | None = None
    compared: tuple[str, ...] = ()
    seconds: float = 0.0

    def by_oracle(self) -> None:
        """The engine's map against the oracle's, and against the document's."""
        if self.error or self.case.why is not None:
            return
        started = time.perf_counter()
        try:
            self.move = make_move(self.case)
            self._compare_maps(self._codes())
        except AscendError as error:
            self.error = f"refused, though legal: {error}"
        except Exception as error:  # a fault must not end the suite
            self.error = one_line(error)
        self.seconds += time.perf_counter() - started

    def _compare_maps(self, codes: np.ndarray) -> None:
        if self.stated is not None:
            stated = np.where(self.stated == UNSTATED, codes, self.stated)
            self._compare("document", stated, codes)
        if all(step.instruction in oracle.INSTRUCTIONS for step in self.case.steps):
            try:
                expected = oracle_map(self.case)
            except AscendError as error:
                self.error = f"the engine accepts it, the oracle refuses: {error}"
            else:
                self._compare("oracle", expected, codes)

    def encoded(self) -> Code | None:
        """What the interpreter runs; None where there is no single call to run."""
        if self.move is None or self.error or len(self.move.calls) > 1:
            return None
        try:
            return encode(self.move.nests[0])
        except AscendError as error:
            self.error = str(error)
            return None

    def by_interpreter(self, index: np.ndarray) -> None:
        """The interpreter's map against the engine's."""
        self._compare("interpreter", self._codes(), index)

    def by_op(self) -> None:
        """What its own jitted op leaves, against the engine's map."""
        if self.move is None or self.error:
            return
        started = time.perf_counter()
        try:
            self._compare("op", self.move.index_map.index, op_map(self.move))
        except AscendError as error:
            self.error = f"the op refuses: {error}"
        except Exception as error:
            self.error = f"the op fails: {one_line(error)}"
        self.seconds += time.perf_counter() - started

    def result(self) -> Result:
        """What became of it."""
        case = self.case
        if case.why is not None:
            return check_case(case)
        wrong = 0 if self.wrong is None else int(self.wrong.sum())
        status = "error" if self.error else "mismatch" if wrong else "ok"
        message = self.error or self.message
        if status == "ok" and "oracle" not in self.compared:
            status, message = "unsupported", f"the oracle has no {case.instruction}"
        return Result(
            case.id,
            case.instruction,
            status,
            elements=case.dst_size if self.compared else 0,
            mismatches=wrong,
            message=message,
            compared=self.compared,
            seconds=self.seconds,
        )

    def _codes(self) -> np.ndarray:
        """The engine's map, with one code for every padding, as the others have it."""
        index = self.move.index_map.index  # pyright: ignore[reportOptionalMemberAccess]
        return np.maximum(index, FILL)

    def _compare(self, way: str, expected: np.ndarray, arrived: np.ndarray) -> None:
        self.compared += (way,)
        differs = expected != arrived
        if not differs.any():
            return
        self.wrong = differs if self.wrong is None else self.wrong | differs
        if not self.message:
            bits = TYPES[self.case.dtype].bits
            where = (self.case.src_size, self.case.path, bits)
            text = first_difference(expected, arrived, *where)
            self.message = f"{_NAMES[way]}: {text}"


def one_line(error: Exception) -> str:
    """An unexpected error, for a report."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
