"""What case files hold (docs/case-files.md)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .._dtypes import ascend_type
from ..instr import REGISTRY
from ._entry import Step


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

    @classmethod
    def all_in(
        cls, file: str, sizes: tuple[int | None, int | None] = (None, None)
    ) -> DumpFiles:
        """One archive with all buffers, each by its own name.

        >>> DumpFiles.all_in("row7.npz").dst_after
        'row7.npz:dst_after'
        """
        names = (f"{file}:{name}" for name in ("src", "dst_after", "dst_before"))
        return cls(*names, sizes=sizes, may_lack_before=True)


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
