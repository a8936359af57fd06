"""LoadDataWithTranspose: figures of its usage, one of a table, and four examples."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .._dtypes import TYPES
from .._move import Move
from .._packed import pack
from ._figure import (
    Fact,
    Figure,
    apart,
    bytes_moved,
    of_example,
    pieces,
    read_apart,
)

_DOCUMENT = "LoadDataWithTranspose"
_SIDE = {"int4b_t": 64, "int8_t": 32, "half": 16, "float": 16}


def _usage(which: str, dtype: str, gap: int, frac_gap: int) -> Figure:
    """A figure of Usage: three squares of `dtype`, and where their fractals go."""
    side, fractal = _SIDE[dtype], TYPES[dtype].fractal
    square = side * side
    # the source element that the transposed square's second fractal begins with
    second = 64 if dtype == "float" else 16
    facts = [
        Fact("repeatTime = 3", "squares, one an iteration", 3, "squares",
             pieces(square)),
        Fact("size", "bytes processed", 3 * square * TYPES[dtype].bits // 8, "bytes",
             bytes_moved),
        Fact("srcStride = 1", "from a square to the next in the source", 1, "squares",
             read_apart(0, (gap + 1) * fractal, square)),
        Fact(f"dstGap = {gap}",
             "from the end of a square's first fractal to the next square's first",
             gap, "fractals", apart(0, square, fractal, 1)),
    ]  # fmt: skip
    if dtype != "half":
        fact = Fact(
            f"dstFracGap = {frac_gap}",
            "from the end of a square's fractal to its next",
            frac_gap,
            "fractals",
            apart(0, second, fractal, 1),
        )
        facts.append(fact)
    if dtype == "int4b_t":
        said = "of two elements in a byte the first is the low nibble: 6, then 7"
        facts.append(Fact("the combination rule", said, 0x76, "(the byte)", _byte))
    named = f"dstGap {gap}" if gap else f"dstFracGap {frac_gap}"
    example = f"Usage: {dtype}" + ("" if dtype == "half" else f", {named}")
    return of_example(
        f"{_DOCUMENT}, {example}",
        f"ldwt-{dtype}-{which}".rstrip("-"),
        f"Function Usage, {dtype}" + (f", {which} figure" if which else ""),
        f"three squares of {side} x {side} {dtype}, transposed",
        *facts,
    )


def _clash() -> Figure:
    """The 4-bit figure with dstGap 1, which breaks a rule of its own document."""
    fractal, square = 1024, 64 * 64
    return of_example(
        f"{_DOCUMENT}, Usage: int4b_t, dstGap 1",
        "ldwt-int4b_t-first",
        "Function Usage, int4b_t, first figure",
        "three squares of 64 x 64 int4b_t, transposed: they overlap",
        Fact("dstGap = 1",
             "from the end of a square's first fractal to the next square's first",
             1, "fractals", apart(0, square, fractal, 1)),
        Fact("dstFracGap = 0", "from the end of a square's fractal to its next", 0,
             "fractals", apart(0, 16, fractal, 1)),
        Fact("fractals written", "where 3 squares of 4 would need 12", 8, "fractals",
             lambda move: move.dst_size // fractal),
        note="A square has four fractals, so that the next square lands on the last "
        "two of the one before: packed squares need dstGap 3. The document forbids "
        "the overlap that its figure states; the picture lets the later write win.",
    )  # fmt: skip


def _byte(move: Move) -> int:
    """The byte that the elements 6 and then 7 make."""
    return int(np.asarray(pack(jnp.array([6, 7], "uint8")))[0])


def _tables() -> list[Figure]:
    square = 16 * 16
    return [
        of_example(
            f"{_DOCUMENT}, Table 3, startIndex: the third and fourth fractals",
            "ldwt-start",
            "Table 3, startIndex",
            "a source of 20 fractals of float, from its second square on",
            Fact("startIndex = 1", "starts with the third fractal (number 2)", 2,
                 "(fractal)", lambda move: int(move.index_map.index.min()) // 128),
            Fact("repeatTimes = 1", "fractals that are transposed", 2, "fractals",
                 pieces(128)),
            Fact("source", "fractals in the source", 20, "fractals",
                 lambda move: move.src_size // 128),
            Fact("square", "elements of a square, made of two fractals", square,
                 "elements", lambda move: move.dst_size),
        )
    ]  # fmt: skip


def _example(number: int, k: int, n: int, dtype: str, *facts: Fact, note="") -> Figure:
    return of_example(
        f"{_DOCUMENT}, Example {number}: NZ of [{k}, {n}] to ZN",
        f"ldwt-example-{number}",
        f"Example {number}",
        f"B of [{k}, {n}] {dtype}, NZ in B1, becomes ZN in B2",
        *facts,
        Fact("B", "elements of the matrix, each moved once", k * n, "elements",
             lambda move: np.unique(move.index_map.index).size),
        note=note,
    )  # fmt: skip


def _examples() -> list[Figure]:
    def calls(number: int) -> Fact:
        return Fact(
            "calls", "of the loop", number, "calls", lambda move: len(move.calls)
        )

    return [
        _example(
            1, 32, 64, "int8_t",
            Fact("repeatTimes", "n / nBlockSize = 64 / 32", 2, "squares",
                 pieces(1024)),
            Fact("dstGap = 1", "two fractals a square, packed", 2, "fractals",
                 apart(0, 1024, 512)),
            note="The document declares nBlockSize twice (errata E3); 32 is meant.",
        ),
        _example(
            2, 32, 32, "half",
            calls(2),
            Fact("repeatTimes", "k / nBlockSize = 32 / 16 a call", 4, "squares",
                 pieces(256)),
            Fact("dstGap = 1", "every second fractal", 2, "fractals",
                 apart(0, 256, 256)),
        ),
        _example(
            3, 16, 32, "float",
            Fact("repeatTimes", "n / nBlockSize = 32 / 16", 2, "squares",
                 pieces(256)),
            Fact("dstFracGap", "n / nBlockSize - 1", 1, "fractals",
                 apart(0, 64, 128, 1)),
            note="NZ has a square's two fractals next to each other where the matrix "
            "has 16 rows, as here; else the instruction needs ZZ (errata E9).",
        ),
        _example(
            4, 128, 256, "int8_t",
            calls(8),
            Fact("repeatTimes", "kStep / 2 = 8 / 2 a call", 32, "squares",
                 pieces(1024)),
            Fact("dstGap", "nStep * 2 - 1", 15, "fractals", apart(0, 1024, 512, 1)),
            note="The document declares m = 256 where its text says 128 (errata E3).",
        ),
    ]  # fmt: skip


def transpose() -> list[Figure]:
    """The figures of LoadDataWithTranspose's document."""
    return [
        _usage("first", "int8_t", 1, 0),
        _usage("second", "int8_t", 0, 2),
        _usage("", "half", 0, 0),
        _usage("first", "float", 1, 0),
        _usage("second", "float", 0, 2),
        _clash(),
        _usage("second", "int4b_t", 0, 2),
        *_tables(),
        *_examples(),
    ]
