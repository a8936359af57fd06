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


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, save."""
    parser = report.options(
        __doc__, "f32,bf16", "1024x1024", ("f32,bf16", "48x40,33x70")
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
        target = f"<= {_TARGETS[row['direction']]}" if whole else ""
        name = f"NZLinear / eqx.nn.Linear, {row['direction']}, {row['type']}"
        found.append(report.Figure(name, ratio, target, row["size"]))
    return found


def _line(row: report.Row) -> str:
    times = ", ".join(f"{k} {1e3 * v:.3f} ms" for k, v in row["seconds"].items())
    return f"{row['direction']} {report.label(row)}: {times}"


def _rows(type: str, size: str, batch: int, seconds: float) -> list[report.Row]:
    """Both directions of a layer, checked, and timed together.

    Values are sparse ones, so that sums are exact in every type and order.
    """
    outs, ins = map(int, size.split("x"))
    dtype = jnp.dtype(TYPES[type][1])
    rng = np.random.default_rng(SEED)

    def values(*shape: int) -> np.ndarray:
        return rng.choice([-1, 1] + [0] * 30, shape).astype(dtype)

    matrix, bias = values(outs, ins), values(outs)
    x, ct = values(batch, ins), values(batch, outs)
    plain = eqx.tree_at(
        lambda layer: (layer.weight, layer.bias),
        eqx.nn.Linear(ins, outs, dtype=dtype, key=jax.random.key(0)),
        (jnp.asarray(matrix), jnp.asarray(bias)),
    )
    layers = {"ours": asc.nn.NZLinear.from_eqx(plain), "eqx": plain}
    wide, wide_ct = x.astype("float32"), ct.astype("float32")
    want = wide @ matrix.astype("float32").T + bias.astype("float32")
    want_x, want_w = wide_ct @ matrix.astype("float32"), wide_ct.T @ wide
    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, layer in layers.items():
        forward = functools.partial(jax.jit(_forward), layer, jnp.asarray(x))
        backward = functools.partial(
            jax.jit(_backward), layer, jnp.asarray(x), jnp.asarray(ct)
        )
        label = f"NZLinear, {type}, {size}, {name}"
        check(f"{label}, forward", forward(), want.astype(dtype))
        grads, grad_x = backward()
        held = grads.weight if name == "eqx" else layer.layout.unpack(grads.weight)
        check(f"{label}, backward, weight", held, want_w.astype(dtype))
        check(f"{label}, backward, x", grad_x, want_x.astype(dtype))
        calls |= {("forward", name): forward, ("backward", name): backward}
    times = medians(calls, seconds, most=200 if seconds else 3)
    row = {"case": "NZLinear", "type": type, "size": size, "batch": batch}
    row["bytes"] = matrix.nbytes
    return [
        row
        | {
            "direction": direction,
            "seconds": {name: times[direction, name] for name in layers},
        }
        for direction in _TARGETS
    ]


def _forward(layer: Any, x: jax.Array) -> jax.Array:
    return jax.vmap(layer)(x)


def _backward(layer: Any, x: jax.Array, ct: jax.Array) -> Any:
    """The cotangents of the layer and x; XLA drops the forward pass, of which they
    need nothing."""
    return jax.vjp(_forward, layer, x)[1](ct)


if __name__ == "__main__":
    raise SystemExit(main())
