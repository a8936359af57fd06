"""Layers with NZ weights against the plain ones of Equinox.

python -m benchmarks.bench_layers [--types f32,bf16] [--sizes 1024x1024] [--smoke]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import ascjax as asc

from . import report
from .plotting import plot
from .timing import SEED, check, medians
from .work import TYPES

_TARGETS = {"forward": 1.15, "backward": 1.3}
_DEPTH = 8

Calls = dict[tuple[str, str, str], Callable[[], Any]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(
        __doc__, "f32,bf16", "1024x1024", ("f32,bf16", "48x40,32x64")
    )
    parser.add_argument("--batch", type=int, default=64, help="vectors")
    parser.add_argument("--seconds", type=float, default=2, help="each variant's")
    args = parser.parse_args(argv)
    types, sizes = report.chosen(args)
    print(report.machine())
    rows = []
    for type in types:
        for size in sizes:
            made = _rows(type, size, args.batch, 0.0 if args.smoke else args.seconds)
            for row in made:
                rows.append(row)
                print(_line(row), flush=True)
    found = figures(rows)
    print(*found, sep="\n")
    report.save(args.json, rows, found)
    plot(args.plot, rows, "Layers")
    return 0


def figures(rows: Sequence[report.Row]) -> list[report.Figure]:
    """The summary: our time over the plain layer's; targets are for float32."""
    found = []
    for row in rows:
        ratio = row["seconds"]["ours"] / row["seconds"]["eqx"]
        whole = row["type"] == "f32" and row["size"] == "1024x1024"
        whole = whole and row["case"] == "NZLinear"
        target = f"<= {_TARGETS[row['direction']]}" if whole else ""
        name = f"{row['case']} / eqx.nn, {row['direction']}, {row['type']}"
        found.append(report.Figure(name, ratio, target, row["size"]))
    return found


def _line(row: report.Row) -> str:
    times = ", ".join(f"{k} {1e3 * v:.3f} ms" for k, v in row["seconds"].items())
    return f"{row['direction']} {report.label(row)}: {times}"


def _rows(type: str, size: str, batch: int, seconds: float) -> list[report.Row]:
    """Both directions of every layer, checked, and all timed together; then those of
    NZLinear once more by themselves, where caches hold every weight."""
    outs, ins = map(int, size.split("x"))
    dtype = jnp.dtype(TYPES[type][1])
    plain, inputs = _linear(outs, ins, dtype, batch)
    calls = _calls("NZLinear", plain, inputs)
    _check_linear(f"NZLinear, {type}, {size}", plain, inputs)
    if outs == ins:
        deep = [_linear(outs, ins, dtype, 1, seed)[0] for seed in range(_DEPTH)]
        exact, deep = type == "f32", eqx.nn.Sequential(deep)
        calls |= _calls(f"{_DEPTH} NZLinear", deep, inputs, exact)
    calls |= _calls("NZConv2d", *_convolution(dtype, batch))
    calls |= _calls("NZAttention", *_attention(ins, dtype, batch), exact=False)
    times = medians(calls, seconds, most=200 if seconds else 3)
    own = {key: call for key, call in calls.items() if key[0] == "NZLinear"}
    alone = medians(own, seconds, most=200 if seconds else 3)
    times |= {("NZLinear alone", *key[1:]): time for key, time in alone.items()}
    row = {"type": type, "size": size, "batch": batch}
    row["bytes"] = outs * ins * dtype.itemsize
    return [
        row
        | {
            "case": case,
            "direction": direction,
            "seconds": {name: times[case, direction, name] for name in ("ours", "eqx")},
        }
        for case in dict.fromkeys(key[0] for key in times)
        for direction in _TARGETS
    ]


def _calls(
    case: str, plain: Any, inputs: tuple[jax.Array, jax.Array], exact: bool = True
) -> Calls:
    """Forward and backward of a plain layer, and of the same in NZ, checked."""
    layers = {"ours": asc.nn.to_nz(plain), "eqx": plain}
    calls: Calls = {}
    for name, layer in layers.items():
        arrays, rest = eqx.partition(layer, eqx.is_array)
        forward = jax.jit(functools.partial(_forward, rest))
        backward = jax.jit(functools.partial(_backward, rest))
        calls[case, "forward", name] = functools.partial(forward, arrays, inputs[0])
        calls[case, "backward", name] = functools.partial(backward, arrays, *inputs)
    got, want = (calls[case, "forward", name]() for name in layers)
    if exact:
        check(f"{case}, forward", got + 0, np.asarray(want + 0))  # -0 is 0
    else:
        eight_bits = float(jnp.abs(want).max()) / 2**7
        np.testing.assert_allclose(*map(_wide, (got, want)), atol=eight_bits)
    return calls


def _wide(x: jax.Array) -> np.ndarray:
    return np.asarray(x, "float32")


def _sparse(seed: int, dtype: Any, *shape: int, of: int = 32) -> jax.Array:
    """One value in `of` is 1 or -1, so that sums are exact in every type and order."""
    rng = np.random.default_rng([SEED, seed])
    return jnp.asarray(rng.choice([-1, 1] + [0] * (2 * of - 2), shape), dtype)


def _linear(
    outs: int, ins: int, dtype: Any, batch: int, seed: int = 0
) -> tuple[eqx.nn.Linear, tuple[jax.Array, jax.Array]]:
    plain = eqx.nn.Linear(ins, outs, dtype=dtype, key=jax.random.key(0))
    weight = _sparse(seed, dtype, outs, ins, of=64)
    values = weight, _sparse(seed + 1, dtype, outs)
    plain = eqx.tree_at(lambda layer: (layer.weight, layer.bias), plain, values)
    return plain, (_sparse(2, dtype, batch, ins), _sparse(3, dtype, batch, outs))


def _convolution(dtype: Any, batch: int) -> tuple[eqx.nn.Conv2d, tuple]:
    """64 channels to 64, 3 x 3, on maps of 14 x 14, an eighth of the batch."""
    plain = eqx.nn.Conv2d(64, 64, 3, padding=1, dtype=dtype, key=jax.random.key(0))
    weight = _sparse(4, dtype, *plain.weight.shape, of=64)
    plain = eqx.tree_at(lambda layer: layer.weight, plain, weight)
    plain = eqx.tree_at(lambda layer: layer.bias, plain, jnp.zeros((64, 1, 1), dtype))
    shape = -(-batch // 8), 64, 14, 14
    return plain, (_sparse(5, dtype, *shape), _sparse(6, dtype, *shape))


def _attention(size: int, dtype: Any, batch: int) -> tuple[Any, tuple]:
    """Eight heads over one sequence of `batch` rows."""
    plain = eqx.nn.MultiheadAttention(8, size, dtype=dtype, key=jax.random.key(0))
    keys = jax.random.split(jax.random.key(1))
    x, ct = (jax.random.normal(key, (1, batch, size), dtype) for key in keys)
    return plain, (x, ct)


def _check_linear(label: str, plain: Any, inputs: tuple[jax.Array, ...]) -> None:
    """NZLinear's result and its cotangents are NumPy's."""
    layer = asc.nn.NZLinear.from_eqx(plain)
    arrays, rest = eqx.partition(layer, eqx.is_array)
    matrix, bias, x, ct = map(_wide, (plain.weight, plain.bias, *inputs))
    dtype = plain.weight.dtype
    out = _forward(rest, arrays, inputs[0])
    check(f"{label}, forward", out, (x @ matrix.T + bias).astype(dtype))
    grads, grad_x = _backward(rest, arrays, *inputs)
    held = layer.layout.unpack(grads.weight)
    check(f"{label}, backward, weight", held, (ct.T @ x).astype(dtype))
    check(f"{label}, backward, x", grad_x, (ct @ matrix).astype(dtype))


def _forward(rest: Any, arrays: Any, x: jax.Array) -> jax.Array:
    layer = eqx.combine(arrays, rest)
    if isinstance(layer, asc.nn.NZAttention | eqx.nn.MultiheadAttention):
        return jax.vmap(lambda x: layer(x, x, x))(x)
    return jax.vmap(layer)(x)


def _backward(rest: Any, arrays: Any, x: jax.Array, ct: jax.Array) -> Any:
    """The cotangents of arrays and x; XLA drops what they do not need of the way
    forward."""
    return jax.vjp(functools.partial(_forward, rest), arrays, x)[1](ct)


if __name__ == "__main__":
    raise SystemExit(main())
