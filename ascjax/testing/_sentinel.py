"""`sentinel`: buffers whose elements can be told apart."""

from __future__ import annotations

import numpy as np

from .._dtypes import ascend_type
from .._errors import ParamError
from ..instr._fields import static_int
from ..sweeps._bits import array_from, word
from ._calls import SOURCE

_WHO = "sentinel"
_SPREAD = 0x9E3779B97F4A7C15  # odd, so that multiplying maps no two patterns to one


def sentinel(size: int, dtype: object, seed: int = 0) -> np.ndarray:
    """A buffer of bit patterns that are all different, as far as the width allows.

    Whichever element a kernel moves from or to a wrong place is seen. Where there are
    more elements than patterns, each 2^bits elements in turn hold all patterns, in an
    order of their own. Seeds 0 and 1, say of a source and a destination, share no
    pattern where neither has more than half of all patterns; 0 to 3 where none has
    more than a quarter.

    Shapes: the result is (size,); of 4-bit types packed bytes, (ceil(size / 2),).

    Args:
      size: elements.
      dtype: the Ascend C type, or a JAX dtype of the same values. Floats hold NaNs
        too: compare bits, as `assert_same_move` does.
      seed: buffers of another seed are others; not negative. Keep the buffer, not the
        seed: another version of NumPy may shuffle otherwise.
    Returns: a NumPy array of the type that holds `dtype`; uint8 for 4-bit types.
    Raises:
      ParamError: a size or a seed that is negative or no integer, an unknown type.
    Gradient: none.
    Source: docs/kernel-repositories.md.

    >>> import ascjax as asc
    >>> buffer = asc.testing.sentinel(512, "half")
    >>> buffer.dtype.name, len(set(buffer.view("uint16").tolist()))
    ('float16', 512)
    """
    size, seed = _natural("size", size), _natural("seed", seed)
    type = ascend_type(dtype, _WHO)
    bits = 1 if type.carrier == "bool" else type.bits
    rng = np.random.default_rng(seed)
    most = max(1, min(size, 2**bits))
    rounds = [rng.permutation(most) for _ in range(-(-size // most))]
    count = np.concatenate([np.zeros(0, int), *rounds])[:size].astype(np.uint64)
    # The seed's digits from the right: 0, a half, a quarter, three quarters, ...
    start = int(f"{seed % 2**bits:0{bits}b}"[::-1], 2)
    patterns = (count + np.uint64(start)) * np.uint64(_SPREAD)
    raw = (patterns & np.uint64(2**bits - 1)).astype(word(type))
    if type.bits == 4:
        return array_from(raw, np.uint8, packed=True)
    return raw.view(type.carrier)


def _natural(field: str, value: object) -> int:
    rule = "be an integer, 0 or more"
    number = static_int(_WHO, field, value, rule, SOURCE)
    if number < 0:
        raise ParamError(_WHO, field, rule, number, "Pass 0 or more.", SOURCE)
    return number
