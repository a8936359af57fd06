"""The products: architecture, buffers, formats, positions and their aliases.

What a product supports of an instruction stands with the instruction, in `instr/`.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ._errors import SupportError


@dataclasses.dataclass(frozen=True)
class Product:
    """One Ascend product, as the documents' applicability tables name it.

    Attributes:
      key: the name used in case files and errors.
      name: the vendor's name.
      also: other names that `asc.product` accepts, beside the parts of `name` and the
        key without "atlas".
      npu_arch: architecture number, as the compiler takes it.
      buffers_kib: size of each buffer in KiB; empty where none is documented.
      l0a_format, l0b_format, l0c_format: order of the fractals there.

    >>> import ascjax as asc
    >>> asc.product("910B") is asc.ATLAS_A2, asc.product(3510) is asc.ATLAS_350
    (True, True)
    >>> asc.ATLAS_350.l0a_format, asc.ATLAS_A2.buffers_kib["L0A"]
    ('NZ', 64)
    """

    key: str
    name: str
    also: tuple[str, ...]
    npu_arch: int
    buffers_kib: Mapping[str, int]
    l0a_format: str = "ZZ"
    l0b_format: str = "ZN"
    l0c_format: str = "NZ"

    def __repr__(self) -> str:
        return self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self):
        return product, (self.key,)  # copies and unpickled ones are the same object


def _buffers(l1: int, l0c: int, ub: int) -> Mapping[str, int]:
    return MappingProxyType({"L1": l1, "L0A": 64, "L0B": 64, "L0C": l0c, "UB": ub})


ATLAS_350 = Product(
    "atlas_350",
    "Atlas 350 Accelerator Card",
    ("Ascend 950PR", "Ascend 950DT"),
    3510,
    _buffers(512, 256, 248),
    l0a_format="NZ",
)
ATLAS_A3 = Product(
    "atlas_a3",
    "Atlas A3 training product / Atlas A3 inference product",
    (),
    2201,
    _buffers(512, 128, 192),
)
ATLAS_A2 = Product(
    "atlas_a2",
    "Atlas A2 training product / Atlas A2 inference product",
    ("Ascend 910B",),
    2201,
    _buffers(512, 128, 192),
)
ATLAS_200I_500_A2 = Product(
    "atlas_200i_500_a2",
    "Atlas 200I/500 A2 inference product",
    ("Ascend 310B",),
    3002,
    _buffers(1024, 128, 248),
)
ATLAS_INFERENCE_AICORE = Product(
    "atlas_inference_aicore",
    "Atlas inference product AI Core",
    ("Ascend 310P AI Core",),
    2002,
    _buffers(1024, 256, 256),
)
ATLAS_INFERENCE_VECTOR = Product(
    "atlas_inference_vector",
    "Atlas inference product Vector Core",
    ("Ascend 310P Vector Core",),
    2002,
    MappingProxyType({}),
)
ATLAS_TRAINING = Product(
    "atlas_training",
    "Atlas training product",
    ("Ascend 910",),
    1001,
    _buffers(1024, 256, 256),
)
KIRIN_X90 = Product("kirin_x90", "Kirin X90", (), 3003, _buffers(1024, 128, 118))
KIRIN_9030 = Product("kirin_9030", "Kirin 9030", (), 3113, _buffers(512, 64, 118))

PRODUCTS: dict[str, Product] = {
    p.key: p
    for p in (
        ATLAS_350,
        ATLAS_A3,
        ATLAS_A2,
        ATLAS_200I_500_A2,
        ATLAS_INFERENCE_AICORE,
        ATLAS_INFERENCE_VECTOR,
        ATLAS_TRAINING,
        KIRIN_X90,
        KIRIN_9030,
    )
}


CUBE = tuple(key for key, p in PRODUCTS.items() if p.buffers_kib)
"""Keys of the products with a matrix unit: all but the vector core."""


# Names in use that the documents do not have: enough for advice, not for an alias.
_SEEN = {
    "910C": (ATLAS_A3,),
    "910_93": (ATLAS_A3,),
    "310P": (ATLAS_INFERENCE_AICORE, ATLAS_INFERENCE_VECTOR),
}


@functools.lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    """A name without what people write differently: case, spaces, "Ascend"."""
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    return bare.removeprefix("ascend").removeprefix("atlas")


def _names(p: Product) -> tuple[str, ...]:
    """All that a product answers to."""
    return p.key, p.name, *p.name.split(" / "), *p.also, str(p.npu_arch)


def _advice(wanted: str) -> str:
    """What may be meant by a name that is none: the longest that it starts with, else
    all that start with it, else one that is spelt much like it."""
    known = {_plain(name): [*meant] for name, meant in _SEEN.items()}
    for p in PRODUCTS.values():
        for name in _names(p):
            known.setdefault(_plain(name), []).append(p)
    starts = [name for name in known if len(name) > 2 and wanted.startswith(name)]
    close = sorted(starts, key=len)[-1:]
    close = close or [name for name in known if wanted and name.startswith(wanted)]
    close = close or difflib.get_close_matches(wanted, known, n=1, cutoff=0.8)
    keys = dict.fromkeys(p.key for name in close for p in known[name])
    return f"Did you mean {' or '.join(keys)}? " if keys else ""


def product(name: Any, who: str = "ascjax") -> Product:
    """Look a product up: a `Product`, its key or name, an alias, or an NPU_ARCH number.

    Args:
      name: what to look up.
      who: the instruction that asks, for the error.

    Raises:
      SupportError: where no product has that name, or where several share it (as two
        products share architecture 2201).

    >>> import ascjax as asc
    >>> asc.product("Ascend 950PR"), asc.product("atlas_a2")
    (atlas_350, atlas_a2)
    """
    if isinstance(name, Product):
        return name
    wanted = _plain(str(name)) if isinstance(name, str | int) else ""
    found = [p for p in PRODUCTS.values() if wanted in map(_plain, _names(p))]
    if len(found) == 1:
        return found[0]
    aliases = [alias for p in PRODUCTS.values() for alias in p.also]
    several = f"{name!r}, which {' and '.join(p.key for p in found)} share"
    raise SupportError(
        who,
        "product",
        f"be one of {', '.join(PRODUCTS)}",
        several if found else repr(name),
        f"{'' if found else _advice(wanted)}"
        f"Use a key from the list, or an alias: {', '.join(aliases)}, or the number of "
        "an architecture that one product has.",
        "products.json",
    )


# Every position that an operand can have, and the buffer that it stands for.
POSITIONS = MappingProxyType(
    {
        "GM": "GM",
        "A1": "L1",
        "B1": "L1",
        "A2": "L0A",
        "B2": "L0B",
        "CO1": "L0C",
        "VECIN": "UB",
        "VECOUT": "UB",
        "CO2": "UB",
    }
)


def positions_of(name: str) -> tuple[str, ...]:
    """The positions that a name stands for: itself, or all those of a buffer."""
    word = name.strip().upper()
    if word in POSITIONS:
        return (word,)
    return tuple(p for p, buffer in POSITIONS.items() if buffer == word)


def resolve_path(name: str, known: tuple[str, ...], who: str, source: str) -> str:
    """The path that a name such as "A1->A2" or "L1->L0A" means for one instruction.

    Args:
      name: positions or buffers, joined by an arrow.
      known: the paths that the instruction has on any product.
    """
    ends = [positions_of(end) for end in str(name).split("->")]
    if len(ends) == 2:
        for src in ends[0]:
            for dst in ends[1]:
                if f"{src}->{dst}" in known:
                    return f"{src}->{dst}"
    raise SupportError(
        who,
        "path",
        f"be one of {', '.join(known)}",
        repr(name),
        "Positions are A1 or B1 (L1), A2 (L0A), B2 (L0B), VECIN or VECOUT (UB), GM.",
        source,
    )
