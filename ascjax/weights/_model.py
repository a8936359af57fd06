"""`save` and `load`: models to weight files and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._dtypes import require_x64
from .._errors import ParamError
from .._layout import Layout
from ._bits import array, block_of
from ._entry import KEY, Entry, differing, entries_of, is_plain, metadata_of
from ._error import WeightsError
from ._file import SOURCE, Tensor, Where, check_free, library, read, write
from ._leaves import Leaf, leaves_of
from ._types import code_of

Model = TypeVar("Model")
Layouts = Mapping[str, Layout]


def save(
    path: Where,
    model: Any,
    *,
    layouts: Layouts | None = None,
    product: Any = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write every array of a model into a safetensors file, as it is stored.

    Names are paths in the model: "layers.0.weight". Layers that hold a weight in NZ, or
    in another layout, say so themselves; the file's metadata have shape, layout,
    product and type of each array. Leaves that are no arrays are left out.

    Args:
      path: the file's name.
      model: an Equinox model, a mapping of names to arrays, or any other pytree.
      layouts: {name: asc.Layout} of arrays that no layer describes: of a mapping, or of
        bytes whose type the array does not tell (`hifloat8_t` in uint8, say).
      product: the product of these.
      metadata: more of safetensors' own, such as {"format": "pt"}; texts only.
      overwrite: whether to replace a file of that name.
    Returns: None. The file takes its name when it is whole.
    Raises:
      ParamError: no array, one of a type that Ascend C has not, random keys, tracers;
        a path that is none.
      BoundsError: an array that its layout does not fit.
      WeightsError: a file that exists, a directory, or what cannot be written.
      SupportError: without the package safetensors.

    >>> import ascjax as asc, jax, tempfile
    >>> layer = asc.nn.NZLinear(20, 17, key=jax.random.key(0))
    >>> path = f"{tempfile.mkdtemp()}/layer.safetensors"
    >>> asc.weights.save(path, {"head": layer})
    >>> [(e.name, e.format, e.shape) for e in asc.weights.inspect(path)]
    [('head.bias', 'ND', (17,)), ('head.weight', 'NZ', (17, 20))]
    """
    library()
    check_free(path, overwrite)
    leaves = [leaf for leaf in leaves_of("save", model, layouts, product) if leaf]
    if not leaves:
        got = f"{type(model).__name__} without one"
        fix = "Make arrays of its numbers: jnp.asarray."
        raise ParamError("save", "model", "hold an array", got, fix, SOURCE)
    shapes = [one for one in leaves if isinstance(one.value, jax.ShapeDtypeStruct)]
    if shapes:
        fix = "Save the model itself, not what eqx.filter_eval_shape gives."
        name, rule = shapes[0].entry.name, "be an array with values"
        raise ParamError("save", name, rule, "its shape alone", fix, SOURCE)
    own = dict(metadata or {})
    if KEY in own or not all(isinstance(x, str) for x in [*own, *own.values()]):
        rule = f"be texts by names, {KEY!r} not among these"
        fix = "Turn values into texts."
        raise ParamError("save", "metadata", rule, own, fix, SOURCE)
    # As safetensors orders them: wide ones first, so that each starts on its own width.
    leaves.sort(key=lambda leaf: (-leaf.type.bits, leaf.entry.name))
    own |= metadata_of(leaf.entry for leaf in leaves)
    write(path, [_tensor(leaf) for leaf in leaves], own, _blocks(leaves), overwrite)


def load(
    path: Where,
    like: Model,
    *,
    layouts: Layouts | None = None,
    product: Any = None,
) -> Model:
    """A model with the arrays of a weight file, which must fit it exactly.

    Names, types, shapes, layouts and products must be those of `like`: nothing is cast,
    converted or left as it was. Plain safetensors files are refused: `asc.weights.pack`
    makes weight files of them.

    Args:
      path: the file's name.
      like: a model of the same kind, whose arrays' values do not matter: also one of
        shapes alone, as `eqx.filter_eval_shape` gives it.
      layouts, product: as in `asc.weights.save`.
    Returns: `like` with other arrays: NumPy arrays where it has these, JAX arrays
      elsewhere; leaves that are no arrays are its own.
    Raises:
      WeightsError: a file that cannot be read, or that does not fit; it says which
        tensor, what `like` has, and what the file has.
      ParamError, BoundsError: as `asc.weights.save`, of `like`; 64-bit types for a JAX
        array while jax_enable_x64 is off.
      SupportError: without the package safetensors.

    >>> import ascjax as asc, equinox as eqx, jax, tempfile
    >>> model = asc.nn.NZLinear(20, 17, key=jax.random.key(0))
    >>> path = f"{tempfile.mkdtemp()}/layer.safetensors"
    >>> asc.weights.save(path, model)
    >>> like = asc.nn.NZLinear(20, 17, key=jax.random.key(1))
    >>> bool(eqx.tree_equal(asc.weights.load(path, like), model))
    True
    """
    leaves = leaves_of("load", like, layouts, product)
    file = read(path)
    if is_plain(file):
        rule = f"have metadata of ascjax's, under {KEY!r}"
        fix = "Make a weight file of it: asc.weights.pack, or ascjax weights pack."
        got = "a plain safetensors file"
        raise WeightsError(str(path), "the file", rule, got, fix, SOURCE)
    entries = entries_of(file)
    wanted = {leaf.entry.name: leaf for leaf in leaves if leaf}
    if wanted.keys() != entries.keys():
        rule = "be those of like"
        got = differing(wanted, entries, "missing", "too many")
        fix = "A file is loaded whole: give like each of its names, as ascjax weights "
        fix += "inspect lists, and no others."
        raise WeightsError(str(path), "names", rule, got, fix, SOURCE)
    for name, leaf in wanted.items():
        _check_fits(str(path), leaf.entry, entries[name])
    tensors = {tensor.name: tensor for tensor in file.tensors}

    def loaded(leaf: Leaf) -> Any:
        value = leaf.value
        if not isinstance(value, np.ndarray) and np.dtype(value.dtype).itemsize > 4:
            require_x64(value.dtype, f"load: {leaf.entry.name}")
        block = file.block(tensors[leaf.entry.name])
        made = array(block, value.shape, value.dtype, leaf.bits)
        return made if isinstance(value, np.ndarray) else jnp.asarray(made)

    flat, treedef = jax.tree.flatten(like)
    pairs = zip(leaves, flat, strict=True)
    return jax.tree.unflatten(treedef, [loaded(x) if x else old for x, old in pairs])


def _tensor(leaf: Leaf) -> Tensor:
    """A leaf as a header has it: the array's own shape, 4-bit ones in bytes."""
    entry, shape = leaf.entry, leaf.value.shape
    if leaf.bits == 4:
        shape = (*shape[:-1], -(-shape[-1] // 2)) if shape else (1,)
    return Tensor(entry.name, code_of(leaf.type), shape, entry.nbytes)


def _blocks(leaves: list[Leaf]) -> Iterator[np.ndarray]:
    for leaf in leaves:
        yield block_of(np.asarray(leaf.value), leaf.bits)


_FIXES = {
    "type": "Cast or convert like, and load then.",
    "stored": "Load into a model of the file's layout, or unpack and pack the file.",
    "shape": "Make like with the sizes of the file.",
    "product": "Load into a model for the file's product, or unpack and pack the file.",
}


def _check_fits(path: str, wanted: Entry, found: Entry) -> None:
    """Raise WeightsError at the first point in which a tensor differs."""
    for point, fix in _FIXES.items():
        want, got = getattr(wanted, point), getattr(found, point)
        if want != got:
            rule = f"have the {_NAMES.get(point, point)} {want}, as like has"
            raise WeightsError(path, wanted.name, rule, got, fix, SOURCE)


_NAMES = {"stored": "layout"}
