"""Mmad, checked by its values: it has two sources, and no map from them."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import oracle
from .._errors import AscendError
from .._mmad import mmad, result_type
from .._products import PRODUCTS
from ..instr import Site
from ..instr.mmad import MmadParams
from ._builders_cube import mmad as build
from ._cases import Case
from ._check import Check, one_line
from ._choices import Draw
from ._entry import Step

_MMAD = MmadParams.instruction
_PATH = "A2->CO1"
_MOST = 3  # the largest value: the sums of such products are exact in every type


def sites() -> list[Site]:
    """Each type with each order of the fractals in L0A; products that have both alike
    take turns."""
    alike: dict[tuple[str, str], list[Site]] = {}
    for product in PRODUCTS.values():
        for name in MmadParams.paths(product).get(_PATH, ()):
            site = MmadParams.site(product, _PATH, name)
            alike.setdefault((product.l0a_format, name), []).append(site)
    return [same[k % len(same)] for k, same in enumerate(alike.values())]


def draw_values(cases: int, seed: int) -> Iterator[Check]:
    """`cases` random calls of mmad at each site."""
    for (number, site), k in itertools.product(enumerate(sites()), range(cases)):
        rng = np.random.default_rng([seed % 2**63, number, k])
        name = f"{_MMAD} {site.product} {site.path} {site.type} {seed}/{k}"
        yield _drawn(name, site, rng)


def _drawn(name: str, site: Site, rng: np.random.Generator) -> ValueCheck:
    def choose(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    params = build(site, choose)
    step = Step(_MMAD, params.to_fields())
    case = Case(name, "", (step,), str(site.product), _PATH, site.type.name, 0, 0)
    return ValueCheck(case, operands=_operands(params, site, choose, rng))


def _operands(
    params: MmadParams, site: Site, draw: Draw, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Buffers with a value in each lane that may take part, and what spoils a sum in
    the others: NaN, or any integer. As float64, which holds them all."""
    deep = params.k + (-params.k % 16 if params.k_direction_align else 0)
    a_format = site.product.l0a_format if site.product else "ZZ"
    ends = {"l0a": (a_format, (params.m, deep)), "l0b": ("ZN", (deep, params.n))}
    whole = result_type(site.type).name == "int32_t"
    found = {}
    for name, (format, shape) in ends.items():
        if 0 in shape:
            found[name] = np.zeros(draw(1, 9))
            continue
        at, size = oracle.layout(format, shape, site.type.bits)
        lanes = at[:, : params.k] if name == "l0a" else at[: params.k]
        spoilt = size + draw(0, 1) * 2 * draw(1, 20)
        held = np.full(spoilt, np.nan)
        if whole:
            held = rng.integers(-8, 8, spoilt).astype(np.float64)
        held[lanes] = rng.integers(-_MOST, _MOST + 1, lanes.shape)
        found[name] = held
    size = -(-params.m // 16) * -(-params.n // 16) * 256 + draw(0, 1) * draw(1, 99)
    reach = 2**31 - 2 if whole else 2**16
    found["l0c"] = rng.integers(-reach, reach, size).astype(np.float64)
    if params.cmatrix_init_val and draw(0, 1):
        found["bias"] = rng.integers(-reach, reach, params.n + 1).astype(np.float64)
    return found


@dataclasses.dataclass(eq=False)
class ValueCheck(Check):
    """A call of mmad on its operands: the op's values against the oracle's."""

    operands: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def runs_op(self) -> bool:
        """Always: its values are all there is to compare."""
        return self.ended is None

    def by_maps(self) -> None:
        """Nothing: it has no map."""

    def by_op(self) -> None:
        """What the op leaves in L0C against what the oracle does."""
        started = time.perf_counter()
        try:
            expected, arrived = self._oracle(), self._op()
        except AscendError as error:
            self.end("error", f"refused: {error}")
        except Exception as error:
            self.end("error", f"the op fails: {one_line(error)}")
        else:
            self.compared = ("oracle",)
            self.wrong = expected != arrived
            if self.wrong.any():
                first = int(self.wrong.argmax())
                self.message = (
                    f"against the oracle: L0C element {first}: expected "
                    f"{expected[first]:g}, got {arrived[first]:g}"
                )
        self.op_seconds += time.perf_counter() - started

    def _fields(self) -> Any:
        return self.case.steps[0].fields

    def _oracle(self) -> np.ndarray:
        sums = result_type(MmadParams.site(None, None, self.case.dtype).type).name
        kind = np.int64 if sums == "int32_t" else np.float64
        held = {name: x.astype(kind) for name, x in self.operands.items()}
        bits = MmadParams.site(None, None, self.case.dtype).type.bits
        product = self.case.product
        return oracle.mmad(self._fields(), bits, **held, product=product)

    def _op(self) -> np.ndarray:
        type = MmadParams.site(None, None, self.case.dtype).type
        sums = jnp.dtype(result_type(type).carrier)
        held: dict[str, Any] = {
            name: x.astype(jnp.dtype(type.carrier) if name in ("l0a", "l0b") else sums)
            for name, x in self.operands.items()
        }
        params = MmadParams.from_fields(self._fields())
        sources = held.pop("l0a"), held.pop("l0b")
        product, dtype = self.case.product, self.case.dtype
        return np.asarray(mmad(*sources, params, **held, product=product, dtype=dtype))
