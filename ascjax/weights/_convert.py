"""`inspect`, `pack` and `unpack`: weight files from plain ones and back, tensor by
tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .._dtypes import ascend_type
from .._formats import axes_of, format_of
from .._products import ATLAS_A2
from .._products import product as product_of
from ._bits import block_of, elements
from ._bits import pack as packed_elements
from ._bits import unpack as plain_elements
from ._entry import KEY, Entry, entries_of, metadata_of, plain_entry, sized
from ._error import WeightsError
from ._file import SOURCE, File, Tensor, Where, check_free, read, write
from ._types import holds

Patterns = str | Iterable[str]


def inspect(path: Where) -> tuple[Entry, ...]:
    """The tensors of a safetensors file, in the order of their bytes.

    Args:
      path: a weight file, or a plain safetensors file.
    Returns: an `Entry` for each tensor. Only the header is read.
    Raises:
      WeightsError: a file that cannot be read, or whose metadata do not fit it.
      SupportError: without the package safetensors.

    >>> import ascjax as asc, numpy as np, tempfile
    >>> path = f"{tempfile.mkdtemp()}/one.safetensors"
    >>> asc.weights.save(path, {"w": np.zeros((17, 33), "float16")})
    >>> [entry.shape for entry in asc.weights.inspect(path)]
    [(17, 33)]
    """
    return tuple(entries_of(read(path)).values())


def pack(
    src: Where,
    dst: Where,
    layout: Any = "NZ",
    product: Any = ATLAS_A2,
    only: Patterns | None = None,
    *,
    dtype: Any = None,
    overwrite: bool = False,
) -> tuple[Entry, ...]:
    """Write a weight file from a safetensors file, some of its tensors packed.

    All others are copied as they are, and so are the file's own metadata. Packing again
    with other patterns packs more of them.

    Shapes: a tensor (..., rows, columns) becomes (..., size) in NZ: axes in front of
      the layout's own are a batch.
    Args:
      src: a plain safetensors file, or a weight file with tensors that are not packed.
      dst: the file to write; may be `src`, with `overwrite`.
      layout: the format of those that are packed, as `asc.Layout` takes it.
      product: the product to pack for.
      only: names of the tensors to pack, or patterns of them with * and ?; of what they
        match, what the layout can store is packed. None is all with just the axes of
        the layout: all matrices, for NZ.
      dtype: the Ascend C type of what is packed, where the file does not tell:
        "int4b_t" or "hifloat8_t" in bytes. Packed 4-bit bytes are two columns each.
      overwrite: whether to replace `dst`.
    Returns: an `Entry` for each tensor of the new file.
    Raises:
      ParamError: a layout or type that is none.
      SupportError: an unknown product; without the package safetensors.
      WeightsError: files that cannot be read or written, a pattern that matches nothing
        that can be packed, a tensor that is of another type or packed already.

    >>> import ascjax as asc, numpy as np, tempfile
    >>> plain, packed = (f"{tempfile.mkdtemp()}/{n}.safetensors" for n in "ab")
    >>> asc.weights.save(plain, {"w": np.ones((17, 33), "float16"), "b": np.ones(17)})
    >>> [entry.format for entry in asc.weights.pack(plain, packed, "NZ", "910B")]
    ['ND', 'NZ']
    """
    format, target = format_of(layout, "pack"), product_of(product, "pack")
    own = None if dtype is None else ascend_type(dtype, "pack")
    check_free(dst, overwrite)
    file = read(src)
    entries = entries_of(file)
    tensors = {tensor.name: tensor for tensor in file.tensors}
    axes = axes_of(format)

    def fits(entry: Entry) -> bool:
        n, least = len(entry.shape), max(len(axes), 1)
        if only is None and (own or entry.type) is None:
            return False
        right = n == least if only is None and axes else n >= least
        return entry.format == "ND" and right and 0 not in entry.shape[n - len(axes) :]

    what = f"a plain tensor that {format} can store"
    if axes:
        what += f" ({len(axes)} axes or more, the last {len(axes)} not empty)"
    chosen = _chosen(str(src), entries, only, fits, what)
    made = dict(entries)
    for name in chosen:
        entry = entries[name]
        if own is not None:
            entry = _retyped(str(src), tensors[name], entry, own)
        if entry.type is None:
            rule = "be of a type that ascjax has, to be packed"
            fix = "Leave it out with only=, or --only."
            raise WeightsError(str(src), name, rule, tensors[name].code, fix, SOURCE)
        product = target if format != "ND" else None
        new = dataclasses.replace(entry, format=format, product=product)
        made[name] = sized(new)
    _rewrite(file, dst, entries, made, metadata_of(made.values()), overwrite)
    return tuple(made.values())


def unpack(
    src: Where,
    dst: Where,
    only: Patterns | None = None,
    *,
    overwrite: bool = False,
) -> tuple[Entry, ...]:
    """Write a safetensors file from a weight file, its tensors as plain arrays.

    `asc.weights.pack` undone, bit for bit. The new file keeps metadata of ascjax's only
    where something is still packed, or is of a type that safetensors cannot tell.

    Shapes: a buffer (..., size) becomes (..., rows, columns), its padding left out;
      4-bit types stay two to a byte, each row in whole bytes.
    Args:
      src: a weight file.
      dst: the file to write; may be `src`, with `overwrite`.
      only: which tensors, as in `asc.weights.pack`; None is all that are packed.
      overwrite: whether to replace `dst`.
    Returns: an `Entry` for each tensor of the new file.
    Raises:
      WeightsError: files that cannot be read or written, nothing that is packed.
      SupportError: without the package safetensors.

    >>> import ascjax as asc, jax, tempfile
    >>> packed, plain = (f"{tempfile.mkdtemp()}/{n}.safetensors" for n in "ab")
    >>> layer = asc.nn.NZLinear(20, 17, key=jax.random.key(0))
    >>> asc.weights.save(packed, layer)
    >>> [(e.name, e.shape) for e in asc.weights.unpack(packed, plain)]
    [('bias', (17,)), ('weight', (17, 20))]
    """
    check_free(dst, overwrite)
    file = read(src)
    entries = entries_of(file)
    chosen = _chosen(
        str(src),
        entries,
        only,
        lambda entry: entry.layout is not None,
        "a packed tensor",
    )
    made = dict(entries)
    for name in chosen:
        plain = dataclasses.replace(
            entries[name], format="ND", fractal=None, product=None
        )
        made[name] = sized(plain)
    tensors = {t.name: _tensor(t, made[t.name], entries[t.name]) for t in file.tensors}
    told = all(plain_entry(tensors[name]) == entry for name, entry in made.items())
    metadata = {} if told else metadata_of(made.values())
    _rewrite(file, dst, entries, made, metadata, overwrite)
    return tuple(made.values())


def _chosen(
    path: str,
    entries: Mapping[str, Entry],
    only: Patterns | None,
    fits: Callable[[Entry], bool],
    what: str,
) -> list[str]:
    """Names of the tensors that fit and that a pattern matches; each must match one."""
    given = [only] if isinstance(only, str) else ["*"] if only is None else list(only)
    found: set[str] = set()
    for pattern in given:
        named = {name for name in entries if fnmatchcase(name, pattern)}
        fitting = {name for name in named if fits(entries[name])}
        if not fitting:
            got = "no tensor of that name"
            if named:
                one = entries[min(named)]
                shape = " x ".join(map(str, one.shape)) or "a scalar"
                got = f"{one.name}, {one.stored}, {shape}"
            rule = f"match {what}"
            fix = "ascjax weights inspect lists them."
            raise WeightsError(path, f"only={pattern!r}", rule, got, fix, SOURCE)
        found |= fitting
    return [name for name in entries if name in found]


def _retyped(path: str, tensor: Tensor, entry: Entry, type: Any) -> Entry:
    """A plain tensor as one of the type that its bytes hold."""
    if not holds(tensor.code, type):
        rule = f"hold {type}, or its raw bits"
        fix = "Leave dtype out, or name with only= what is of that type."
        raise WeightsError(path, tensor.name, rule, tensor.code, fix, SOURCE)
    shape = entry.shape
    if entry.type is None or entry.type.bits != type.bits:
        *rows, last = tensor.shape
        shape = (*rows, 2 * last if type.bits == 4 else last)
    return dataclasses.replace(entry, type=type, shape=shape)


def _tensor(tensor: Tensor, new: Entry, old: Entry) -> Tensor:
    """A tensor of a file as the header of the new file has it."""
    if new == old:
        return tensor
    bits = new.type.bits  # pyright: ignore[reportOptionalMemberAccess]
    each = 2 if tensor.code != "F4" and bits == 4 else 1
    layout = new.layout
    if layout is None:
        *rows, last = new.shape
        shape = (*rows, -(-last // each))
    else:
        shape = (*new.lead, -(-layout.size // each))
    return dataclasses.replace(tensor, shape=shape, nbytes=new.nbytes)


def _rewrite(
    file: File,
    dst: Where,
    old: Mapping[str, Entry],
    new: Mapping[str, Entry],
    metadata: Mapping[str, str],
    overwrite: bool,
) -> None:
    """Write the file again, each tensor as `new` has it."""
    kept = {key: text for key, text in file.metadata.items() if key != KEY}
    tensors = [_tensor(t, new[t.name], old[t.name]) for t in file.tensors]
    blocks = (_block(file, t, old[t.name], new[t.name]) for t in file.tensors)
    write(dst, tensors, {**kept, **metadata}, blocks, overwrite)


def _block(file: File, tensor: Tensor, old: Entry, new: Entry) -> np.ndarray:
    """A tensor's bytes as `new` stores them."""
    block = file.block(tensor)
    if new.format == old.format or new.type is None:
        return block
    bits, layout, held = new.type.bits, new.layout, old.layout
    if held is not None:
        buffer = elements(block, (*old.lead, held.size), bits)
        return block_of(plain_elements(buffer, held), bits)
    x = elements(block, new.shape, bits)
    return block_of(packed_elements(x, layout), bits)  # pyright: ignore
