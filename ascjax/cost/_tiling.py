"""`cost.matmul`: a tiling of a matrix product, with sizes that may be traced."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .._cube import result_type
from .._dtypes import ascend_type
from .._errors import ParamError
from .._products import product as product_of
from ..nn.cube._roads import up
from ..nn.cube._room import DEEPEST
from ._mmad import depth
from ._rates import SOURCE, WHO, check_overhead, plain_rate

_WAYS = {
    "gm_to_l1": ("GM", "L1"),
    "l1_to_l0a": ("L1", "L0A"),
    "l1_to_l0b": ("L1", "L0B"),
    "l0c_to_gm": ("L0C", "GM"),
}


class Tiling(NamedTuple):
    """What a tiling costs by published figures, each a number or a traced array.

    Attributes:
      gm_to_l1, l1_to_l0a, l1_to_l0b, mmad, l0c_to_gm: cycles of each step; those
        without a published bandwidth are NaN.
      calls: of all steps.
      total: cycles of the published steps, one after another.
      longest: the longest of them: the least where all others hide behind it.
      waste: the share of Mmad's multiplications that are with padding.
      l1, l0a, l0b, l0c: bytes of one tile in each buffer.
      fits: whether all four have room, and one Mmad takes the tile: 4095 at most along
        each axis.
    """

    gm_to_l1: Any
    l1_to_l0a: Any
    l1_to_l0b: Any
    mmad: Any
    l0c_to_gm: Any
    calls: Any
    total: Any
    longest: Any
    waste: Any
    l1: Any
    l0a: Any
    l0b: Any
    l0c: Any
    fits: Any


def matmul(
    m: Any,
    n: Any,
    k: Any,
    tile_m: Any,
    tile_n: Any,
    tile_k: Any,
    *,
    dtype: Any,
    product: Any,
    l1_tile: tuple[Any, Any, Any] | None = None,
    overhead: Any = 0.0,
    buffers: int = 1,
    hf32: bool = False,
) -> Tiling:
    """What [m, k] @ [k, n] costs in tiles, by published figures; it may be traced.

    For each tile of C and each of k the kernel brings a tile of A and one of B to L0;
    with `l1_tile`, GM is read once for each tile of L1 of that size. GM holds A as
    [m, k] and B as [n, k]. With Python numbers and without `l1_tile` it is what
    `asc.cost.of(asc.nn.CubeMatmul(..., transpose_b=True, tile=...))` says.

    Args:
      m, n, k: sizes of the product.
      tile_m, tile_n, tile_k: of a tile in L0, at least 1.
      dtype: the Ascend C type of A and B; static.
      product: one of NPU_ARCH 2201 or 3510; static.
      l1_tile: (m, n, k) of a tile in L1, multiples of the tile in L0; None is the same.
      overhead: cycles of each call; none is published, so 0.
      buffers: how many tiles each of L0A and L0B and L1 holds at a time, 2 for double
        buffering; for `fits` only.
      hf32: as in `mmad`.
    Shapes: each size is a number or an array of any shape; they broadcast.
    Returns: a `Tiling`; Python numbers where all sizes are, else float32 arrays.
    Raises:
      ParamError: a size below 1, an overhead below 0, where they are Python numbers.
      SupportError: a product without published figures.
    Gradient: none: it is piecewise constant.
    Source: costs.md.

    >>> import ascjax as asc, jax, jax.numpy as jnp
    >>> one = asc.cost.matmul(512, 512, 512, 128, 128, 64, dtype="half", product="910B")
    >>> one.mmad, one.l0a, one.fits
    (32768.0, 16384, True)
    >>> tiles = jnp.array([16, 64, 128])
    >>> cost = lambda t: asc.cost.matmul(
    ...     512, 512, 512, t, t, 64, dtype="half", product="910B").l1_to_l0b
    >>> jax.vmap(cost)(tiles)
    Array([131072.,  32768.,  16384.], dtype=float32, weak_type=True)
    """
    where, type = product_of(product, WHO), ascend_type(dtype, WHO)
    deep, c0, bits = depth(type, where, hf32), type.c0, type.bits
    sizes, tile = (m, n, k), (tile_m, tile_n, tile_k)
    given = (*sizes, *tile, *(l1_tile or ()))
    traced = not all(isinstance(x, int | np.integer) for x in given)
    _check_sizes(given)
    check_overhead(overhead)
    least, most = (jnp.minimum, jnp.maximum) if traced else (min, max)
    tile = tuple(map(least, tile, sizes))
    big = tuple(map(least, l1_tile or tile, sizes))

    def wide(size: Any) -> Any:
        return size * 1.0 if traced else size  # products would overflow int32

    def filled(axis: int, by: tuple[Any, ...], unit: int) -> Any:
        n, t = sizes[axis], by[axis]  # elements of all tiles with their padding
        return wide(n // t) * up(t, unit) + up(n % t, unit)

    ms, ns, ks = (wide(-(-n // t)) for n, t in zip(sizes, tile, strict=True))
    rounds = [wide(-(-n // t)) for n, t in zip(sizes, big, strict=True)]
    a, b, deep_k = filled(0, tile, 16), filled(1, tile, 16), filled(2, tile, c0)
    m, n, k = map(wide, sizes)
    rows = a / 16 if where.l0a_format == "ZZ" else ms  # a call for each of fractals
    steps, whole = ms * ns * ks, a * b * deep_k
    to_l1 = filled(2, big, c0) * (m * rounds[1] + n * rounds[0])
    moved = {  # elements, their bits, and calls
        "gm_to_l1": (to_l1, bits, 2 * rounds[0] * rounds[1] * rounds[2]),
        "l1_to_l0a": (a * deep_k * ns, bits, rows * ns * ks),
        "l1_to_l0b": (b * deep_k * ms, bits, steps),
        "l0c_to_gm": (m * n, result_type(type).bits, ms * ns),
    }
    cycles = {"mmad": whole / (256 * deep) + steps * overhead}
    unknown = {}
    for name, (elements, each, calls) in moved.items():
        speed = plain_rate(where, _WAYS[name])
        if speed is None:
            unknown[name] = float("nan") + 0 * steps
        else:
            cycles[name] = elements * each / 8 / speed + calls * overhead
    held = _held(tuple(map(wide, tile)), tuple(map(wide, big)), c0, bits)
    room = {name: where.buffers_kib[name.upper()] * 1024 for name in held}
    times = {"l0c": 1}
    fits = [held[name] * times.get(name, buffers) <= room[name] for name in held]
    fits += [size <= DEEPEST for size in tile]  # what one Mmad takes
    return Tiling(
        **cycles,
        **unknown,
        calls=sum(calls for *_, calls in moved.values()) + steps,
        total=sum(cycles.values()),
        longest=functools.reduce(most, cycles.values()),
        waste=1 - m * n * k / whole,
        **held,
        fits=functools.reduce(operator.and_, fits),
    )


def _check_sizes(given: tuple[Any, ...]) -> None:
    """Raise ParamError for a size below 1, where it is known while tracing."""
    names = [*"mnk", "tile_m", "tile_n", "tile_k", *(f"l1_tile[{k}]" for k in range(3))]
    for name, size in zip(names, given, strict=False):
        if isinstance(size, int | np.integer) and size < 1:
            rule, fix = "be at least 1 (elements)", "Give the size of a tile."
            raise ParamError(WHO, name, rule, size, fix, SOURCE)


def _held(tile: tuple[Any, ...], big: tuple[Any, ...], c0: int, bits: int) -> Any:
    """Bytes of one tile in each buffer."""
    high, broad, long = up(tile[0], 16), up(tile[1], 16), up(tile[2], c0)
    return {
        "l1": (up(big[0], 16) + up(big[1], 16)) * up(big[2], c0) * bits // 8,
        "l0a": high * long * bits // 8,
        "l0b": broad * long * bits // 8,
        "l0c": high * broad * 4,
    }
