"""`sweep`: one instruction with thousands of parameter sets, under one compilation."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._dtypes import AscendType, of_array
from .._errors import AscendError, BoundsError
from .._move import Move, Overlap, check_option
from .._operands import counted_type
from .._products import product as product_of
from .._products import resolve_path
from ..instr import Params
from ._batch import Job
from ._bits import SOURCE, array_from, array_of, bits_of, word
from ._cases import WHO, instruction_of, made
from ._jobs import MEMORY, run_jobs


@dataclasses.dataclass(frozen=True, eq=False)
class Sweep:
    """What became of every case of a sweep.

    Attributes:
      instruction: its name.
      params: each case's params, or None where its fields were refused.
      errors: each case's error, or None.
      dst: each case's destination after its move, (elements,), or None where it was
        refused; NumPy arrays of the type that arrives.

    `len`, indexing and iteration are over `dst`.

    >>> import ascjax as asc, numpy as np
    >>> l1 = np.arange(1024, dtype="float16")
    >>> cases = {"repeat_times": [1, 2, 300], "src_stride": 2}
    >>> found = asc.sweep("load2d", cases, l1)
    >>> found.status.tolist()
    ['ok', 'ok', 'param']
    >>> found[1].shape, found.ok.sum(), found.errors[2].field
    ((512,), np.int64(2), 'repeat_times')
    """

    instruction: str
    params: tuple[Params | None, ...]
    errors: tuple[AscendError | None, ...]
    dst: tuple[np.ndarray | None, ...]

    @property
    def status(self) -> np.ndarray:
        """A word for each case: "ok", or what refused it, the error's class: "param",
        "support", "bounds", "alignment" or "overlap"."""
        return np.array([_word(error) for error in self.errors], dtype="<U9")

    @property
    def ok(self) -> np.ndarray:
        """Which cases ran."""
        return np.array([error is None for error in self.errors], bool)

    def stacked(self) -> np.ndarray:
        """The destinations of all cases that ran, as one array, in their order.

        Raises:
          BoundsError: destinations of several sizes.
        """
        ran = [array for array in self.dst if array is not None]
        sizes = sorted({array.shape[-1] for array in ran})
        if len(sizes) != 1:
            rule = "have destinations of one size (elements) to be stacked"
            fix = "Pass dst_size= or dst=."
            raise BoundsError(WHO, "dst", rule, sizes, fix, SOURCE)
        return np.stack(ran)

    def __len__(self) -> int:
        return len(self.dst)

    def __getitem__(self, case: int) -> np.ndarray | None:
        return self.dst[case]

    def __iter__(self) -> Iterator[np.ndarray | None]:
        return iter(self.dst)

    def __repr__(self) -> str:
        counts = collections.Counter(self.status.tolist())
        said = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        return f"Sweep({self.instruction}: {len(self)} cases: {said})"


def _word(error: AscendError | None) -> str:
    return type(error).__name__.removesuffix("Error").lower() if error else "ok"


def sweep(
    instruction: Any,
    cases: Any,
    src: Any,
    *,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: Any = 0,
    dst_offset: Any = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    memory: int = MEMORY,
    devices: Any = None,
) -> Sweep:
    """One instruction with many parameter sets; bit for bit what its op does with each.

    Each case is checked on the host, in exact integers; the moves are data of a few
    compiled programs, in batches over all devices. What is wrong with a case is its
    status, not an exception.

    Shapes: `src` and `dst` are one buffer for all cases, (elements,), or one each,
    (cases, elements). Packed 4-bit buffers are uint8, two elements a byte.

    Args:
      instruction: such as "load2d", or its params class.
      cases: params objects; or mappings of fields, by their names in snake_case or C;
        or one mapping of columns, which broadcast as arrays do: {"repeat_times":
        range(9), "src_stride": 1}.
      src: what the source holds.
      dst: what the destination held before; None is zero bits.
      dst_size: elements of the result where `dst` is None; None is just the span that
        is written, a size of its own for each case.
      src_offset, dst_offset: where the operands start, in elements: one number, or one
        a case.
      product, path, dtype, overlap: as in `load_data`, for all cases.
      memory: bytes to hold beside operands and results, about.
      devices: over which batches are spread; None is all local ones.
    Returns: a `Sweep`.
    Raises:
      ParamError: traced operands; columns that do not broadcast; a type that does not
        fit the array.
      SupportError: an unknown instruction, product or path; Mmad.
      BoundsError: operands whose first axis is not the cases'.
    Gradient: none; parameters are data here. Use the ops under `jax.vmap` and
      `jax.grad`.
    Source: instructions.md, Units and sections 1 to 6 and 9.

    >>> import ascjax as asc, numpy as np
    >>> l1 = np.arange(512, dtype="float16")
    >>> params = [asc.LoadData2DParams(start, 1) for start in range(3)]
    >>> asc.sweep("load2d", params, l1, product="910B", path="L1->L0A")
    Sweep(load2d: 3 cases: 2 ok, 1 bounds)
    """
    cls = instruction_of(instruction, WHO)
    check_option(WHO, "overlap", overlap, ("error", "last"))
    where = None if product is None else product_of(product, cls.instruction)
    if path is not None:
        path = resolve_path(path, (*cls.paths(),), cls.instruction, cls.source)
    source = array_of(WHO, "src", src)
    type, packed = counted_type(cls, source.dtype, dtype, cls.instruction)
    each = 2 if packed else 1
    given = made(cls, cases)
    sources = _each(source, "src", len(given))
    before = None if dst is None else array_of(WHO, "dst", dst)
    held = None if before is None else _each(before, "dst", len(given))
    src_starts = _starts("src_offset", src_offset, len(given))
    dst_starts = _starts("dst_offset", dst_offset, len(given))
    errors: list[AscendError | None] = [None] * len(given)
    ran: collections.deque[tuple[int, np.dtype]] = collections.deque()

    def jobs() -> Iterator[Job]:
        """Moves are made as batches take them: the host checks while devices run."""
        src_bits, dst_bits = _Bits(packed), _Bits(packed)
        for k, params in enumerate(given):
            try:
                if isinstance(params, AscendError):
                    raise params
                move = Move.of(
                    params,
                    src_size=each * sources[k].size,
                    dst_size=dst_size if held is None else each * held[k].size,
                    src_offset=src_starts[k],
                    dst_offset=dst_starts[k],
                    product=where,
                    path=path,
                    dtype=type,
                    overlap=overlap,
                )
                if before is not None:
                    of_array(before.dtype, move.arrives, cls.instruction, "dst")
            except AscendError as refused:
                errors[k] = refused
                continue
            carrier = jnp.dtype(move.arrives.carrier)
            ran.append((k, carrier if move.conversion else source.dtype))
            old = np.zeros(move.dst_size, word(move.arrives))
            if held is not None:
                old = dst_bits(held[k], move.arrives)
            yield Job(move, src_bits(sources[k], move.type), old)

    after: list[np.ndarray | None] = [None] * len(given)
    for bits in run_jobs(jobs(), memory=memory, devices=devices):
        k, carrier = ran.popleft()
        after[k] = array_from(bits, carrier, packed)
    known = tuple(None if isinstance(p, AscendError) else p for p in given)
    return Sweep(cls.instruction, known, tuple(errors), tuple(after))


class _Bits:
    """Buffers as bits, made once for all cases that share one."""

    def __init__(self, packed: bool):
        self.packed = packed
        self.last: tuple[Any, Any, Any] = (None, None, None)

    def __call__(self, array: np.ndarray, type: AscendType) -> np.ndarray:
        if self.last[0] is not array or self.last[1] != type:
            self.last = array, type, bits_of(array, type, self.packed)
        return self.last[2]


def _each(array: np.ndarray, field: str, cases: int) -> list[np.ndarray]:
    """One buffer a case; the same one where there is only one."""
    if array.ndim == 1:
        return [array] * cases
    if array.ndim != 2 or len(array) != cases:
        rule = f"be one buffer, or one for each of the {cases} cases"
        fix = "Pass an array of shape (elements,) or (cases, elements)."
        raise BoundsError(WHO, field, rule, array.shape, fix, SOURCE)
    return list(array)


def _starts(field: str, value: Any, cases: int) -> Sequence[Any]:
    """A start for each case."""
    if np.ndim(value) == 0:
        return [value] * cases
    found = list(value)
    if len(found) != cases:
        rule = f"be one number, or one for each of the {cases} cases (elements)"
        fix = "Give each case a start."
        raise BoundsError(WHO, field, rule, len(found), fix, SOURCE)
    return found
