"""Small networks on scikit-learn's digits: plain layers, NZ layers, int8 on the road.

python notebooks/digits.py

`04_training_through_nz.ipynb` imports this file. A model is one entry of `MODELS`, made
of Equinox's layers: `asc.nn.to_nz` converts those that it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import ascjax as asc

STEPS, BATCH, RATE = 100, 64, 1e-2
PRODUCT = "910B"


class Data(NamedTuple):
    """Images (n, 8, 8) of float32 in [0, 1] and their digits (n,)."""

    train_x: jax.Array
    test_x: jax.Array
    train_y: jax.Array
    test_y: jax.Array


def load() -> Data:
    """The 1797 digits, every fifth left for the test."""
    x, y = load_digits(return_X_y=True)
    images = (x.reshape(-1, 8, 8) / 16).astype("float32")
    parts = train_test_split(images, y, test_size=0.2, stratify=y, random_state=0)
    return Data(*map(jnp.asarray, parts))


# Smooth, so that two trainings stay as close as their rounding: at a tie, of a maximum
# or at the bend of a relu, one rounding decides where a gradient goes.
_TANH = eqx.nn.Lambda(jnp.tanh)


def mlp(key: jax.Array) -> eqx.nn.Sequential:
    """64 pixels through two hidden layers of 50."""
    net = eqx.nn.MLP(64, 10, width_size=50, depth=2, activation=jnp.tanh, key=key)
    return eqx.nn.Sequential([eqx.nn.Lambda(jnp.ravel), net])


def conv(key: jax.Array) -> eqx.nn.Sequential:
    """Two convolutions of stride 2, from 1 x 8 x 8 to 16 x 2 x 2; a linear layer."""
    one, two, three = jax.random.split(key, 3)
    layers = [
        eqx.nn.Lambda(lambda image: image[None]),
        eqx.nn.Conv2d(1, 8, kernel_size=3, stride=2, padding=1, key=one),
        _TANH,
        eqx.nn.Conv2d(8, 16, kernel_size=3, stride=2, padding=1, key=two),
        _TANH,
        eqx.nn.Lambda(jnp.ravel),
        eqx.nn.Linear(64, 10, key=three),
    ]
    return eqx.nn.Sequential(layers)


class Attention(eqx.Module):
    """The 8 rows of an image as words, each of which looks at all of them."""

    embed: eqx.nn.Linear
    mix: eqx.nn.MultiheadAttention
    last: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        one, two, three = jax.random.split(key, 3)
        self.embed = eqx.nn.Linear(8, 16, key=one)
        self.mix = eqx.nn.MultiheadAttention(2, 16, key=two)
        self.last = eqx.nn.Linear(8 * 16, 10, key=three)

    def __call__(self, image: jax.Array) -> jax.Array:
        rows = jnp.tanh(jax.vmap(self.embed)(image))
        mixed = jnp.tanh(rows + self.mix(rows, rows, rows))
        return self.last(mixed.ravel())


MODELS: dict[str, Callable[[jax.Array], Any]] = {
    "mlp": mlp,
    "conv": conv,
    "attention": Attention,
}


def batches(data: Data, steps: int = STEPS, seed: int = 0) -> tuple[Any, Any]:
    """What each step trains on: (steps, BATCH, 8, 8) and (steps, BATCH)."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(data.train_x), size=(steps, BATCH))
    return data.train_x[chosen], data.train_y[chosen]


def loss(model: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    """Mean cross entropy over a batch."""
    scores = jax.vmap(model)(x)
    return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()


def fit(
    model: Any, xs: jax.Array, ys: jax.Array, wrap: Callable[[Any], Any] = lambda m: m
) -> tuple[Any, jax.Array]:
    """The model after a step of Adam on each batch, and the losses.

    Pure, so that it runs under `eqx.filter_jit`, `eqx.filter_vmap` over models, and on
    batches that are spread over a mesh. `wrap` may be `eqx.filter_checkpoint`.
    """
    optimiser = optax.adam(RATE)
    arrays, rest = eqx.partition(model, eqx.is_inexact_array)

    def of_arrays(arrays: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return loss(wrap(eqx.combine(arrays, rest)), x, y)

    def step(state: Any, batch: Any) -> tuple[Any, jax.Array]:
        arrays, moments = state
        value, grads = jax.value_and_grad(of_arrays)(arrays, *batch)
        updates, moments = optimiser.update(grads, moments, arrays)
        return (optax.apply_updates(arrays, updates), moments), value

    state = arrays, optimiser.init(arrays)
    (arrays, _), losses = jax.lax.scan(step, state, (xs, ys))
    return eqx.combine(arrays, rest), losses


train = eqx.filter_jit(fit)


@eqx.filter_jit
def accuracy(model: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    """The part of the images whose digit the model finds."""
    return (jax.vmap(model)(x).argmax(-1) == y).mean()


def apart(losses: jax.Array, others: jax.Array) -> float:
    """The largest relative difference of two trainings, over all steps."""
    return float((abs(losses - others) / abs(others)).max())


class Result(NamedTuple):
    """What became of a plain model and of its copies.

    `loss` and `nz_loss` are after the last step; `difference` is the largest of all
    steps; the others are accuracies on the test images.
    """

    name: str
    loss: float
    nz_loss: float
    difference: float
    plain: float
    nz: float
    int8: float


def compare(name: str, data: Data, seed: int = 0) -> Result:
    """Train a model of the table with plain and with NZ layers from the same weights,
    on the same batches, and quantise what came out."""
    plain = MODELS[name](jax.random.key(seed))
    xs, ys = batches(data, seed=seed)
    trained, losses = train(plain, xs, ys)
    nz, nz_losses = train(asc.nn.to_nz(plain, PRODUCT), xs, ys)
    int8 = asc.nn.quantise(nz, data.train_x[:256])
    test = data.test_x, data.test_y
    return Result(
        name,
        float(losses[-1]),
        float(nz_losses[-1]),
        apart(nz_losses, losses),
        *(float(accuracy(model, *test)) for model in (trained, nz, int8)),
    )


def main() -> None:
    """Print a line for each model."""
    data = load()
    print(f"{STEPS} steps of Adam, batches of {BATCH}; accuracy on {len(data.test_x)}")
    print("model      loss, plain  loss, NZ  apart    accuracy: plain     NZ   int8")
    for name in MODELS:
        found = compare(name, data)
        print(
            f"{name:9}  {found.loss:11.6f}  {found.nz_loss:8.6f}  "
            f"{found.difference:.1e}  {found.plain:15.1%}  {found.nz:.1%}  "
            f"{found.int8:.1%}"
        )


if __name__ == "__main__":
    main()
