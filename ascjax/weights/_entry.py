"""`Entry`: what is known of one tensor of a file, and the metadata that says so."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._dtypes import AscendType, ascend_type
from .._errors import AscendError
from .._formats import axes_of, checked_fractal, format_of
from .._layout import Layout
from .._products import Product
from .._products import product as product_of
from ._bits import row_bytes
from ._error import WeightsError
from ._file import SOURCE, File, Tensor
from ._types import holds, type_of

KEY = "ascjax"  # of safetensors' metadata, whose value is JSON
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Entry:
    """One tensor of a weight file, and how it is stored.

    Attributes:
      name: its name, such as "layers.0.weight".
      type: the Ascend C type of its elements; None for one that ascjax has not.
      shape: the logical shape in elements, padding left out, batch axes in front.
      format: "ND", "NZ", "FRACTAL_Z" and so on, as in `asc.Layout`.
      fractal: rows and columns of a fractal in elements, where not the format's own.
      product: the product it was packed for; None for plain ones.
      nbytes: bytes in the file.

    >>> import ascjax as asc
    >>> half = asc.ascend_type("half")
    >>> entry = asc.weights.Entry("w", half, (17, 33), "NZ", nbytes=3072)
    >>> entry.layout, entry.padding
    (Layout('NZ', (17, 33), 'half'), 1950)
    """

    name: str
    type: AscendType | None
    shape: tuple[int, ...]
    format: str = "ND"
    fractal: tuple[int, int] | None = None
    product: Product | None = None
    nbytes: int = 0

    @property
    def layout(self) -> Layout | None:
        """How each of its buffers is stored; None for plain arrays."""
        if self.format == "ND" or self.type is None:
            return None
        own = self.shape[-len(axes_of(self.format)) :]
        return Layout(self.format, own, self.type, self.fractal)

    @property
    def lead(self) -> tuple[int, ...]:
        """The batch axes: one buffer for each."""
        layout = self.layout
        return () if layout is None else self.shape[: -len(layout.shape)]

    @property
    def padding(self) -> int:
        """Bytes that hold no element."""
        if self.type is None:
            return 0
        return self.nbytes - -(-math.prod(self.shape) * self.type.bits // 8)

    @property
    def stored(self) -> str:
        """Its format in words: "NZ", or "NZ of 16 x 8" with such fractals."""
        own = "" if self.fractal is None else " of {} x {}".format(*self.fractal)
        return f"{self.format}{own}"


def sized(entry: Entry) -> Entry:
    """The entry with the bytes that its type, shape and format ask for."""
    if entry.type is None:
        return entry
    bits, layout = entry.type.bits, entry.layout
    if layout is None:
        return dataclasses.replace(entry, nbytes=row_bytes(entry.shape, bits))
    nbytes = math.prod(entry.lead) * row_bytes((layout.size,), bits)
    return dataclasses.replace(entry, nbytes=nbytes)


def plain_entry(tensor: Tensor) -> Entry:
    """What a header alone says of a tensor."""
    type = type_of(tensor.code, tensor.shape)
    return Entry(tensor.name, type, tensor.shape, nbytes=tensor.nbytes)


def is_plain(file: File) -> bool:
    """Whether a file has no metadata of ascjax's."""
    return KEY not in file.metadata


def entries_of(file: File) -> dict[str, Entry]:
    """What the metadata say of each tensor, in the order of their bytes.

    Of a plain file it is what the header says.

    Raises:
      WeightsError: for metadata that cannot be read, of a newer version, or that do not
        fit the tensors.
    """
    if is_plain(file):
        return {tensor.name: plain_entry(tensor) for tensor in file.tensors}
    said = _described(file)
    names = {tensor.name for tensor in file.tensors}
    if said.keys() != names:
        rule = "describe each tensor of the file, and no other"
        got = differing(names, said.keys(), "not described", "described but absent")
        raise WeightsError(str(file.path), "metadata", rule, got, _AGAIN, SOURCE)
    return {t.name: _entry(file.path, t, said[t.name]) for t in file.tensors}


def metadata_of(entries: Iterable[Entry]) -> dict[str, str]:
    """The metadata that describe entries."""
    data = {"version": VERSION, "tensors": {e.name: _to_json(e) for e in entries}}
    return {KEY: json.dumps(data, separators=(",", ":"), ensure_ascii=False)}


def differing(wanted: Iterable[str], found: Iterable[str], less: str, more: str) -> str:
    """Which names are on one side only, in words."""
    lists = {
        less: [n for n in wanted if n not in set(found)],
        more: [n for n in found if n not in set(wanted)],
    }
    parts = []
    for word, names in lists.items():
        rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        shown = ", ".join(sorted(names)[:_SHOWN])
        parts += [f"{shown}{rest} {word}"] if names else []
    return "; ".join(parts)


_PLAIN = (None, "ND")  # fractal and format
_SHOWN = 5
_AGAIN = "Save or pack it again: the file was changed by something else."


def _to_json(entry: Entry) -> dict[str, Any]:
    data: dict[str, Any] = {"format": entry.format, "shape": entry.shape}
    data["dtype"] = None if entry.type is None else entry.type.name
    data |= {"fractal": entry.fractal} if entry.fractal else {}
    return data | ({"product": entry.product.key} if entry.product else {})


def _described(file: File) -> dict[str, Any]:
    """The tensors that a file's metadata describe, as JSON."""
    path = str(file.path)
    try:
        data = json.loads(file.metadata[KEY])
        version, tensors = operator.index(data["version"]), data["tensors"]
        newer = version > VERSION
        if not newer and not isinstance(tensors, dict):
            raise TypeError("tensors is no object")
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        rule = f"hold JSON with version and tensors under {KEY!r}"
        got = f"{file.metadata[KEY][:40]!r} ({error})"
        raise WeightsError(path, "metadata", rule, got, _AGAIN, SOURCE) from None
    if newer or version < 1:
        rule = f"be of version {VERSION}, which this ascjax reads"
        fix = "Update ascjax." if newer else _AGAIN
        raise WeightsError(path, "metadata", rule, version, fix, SOURCE)
    return tensors


def _entry(path: Path, tensor: Tensor, data: Any) -> Entry:
    """A tensor as its description has it, which must fit the tensor."""
    try:
        type = None if data["dtype"] is None else ascend_type(data["dtype"])
        shape = tuple(map(operator.index, data["shape"]))
        format, fractal = format_of(data["format"], "layout"), data.get("fractal")
        if min(shape, default=0) < 0 or (type is None and (fractal, format) != _PLAIN):
            raise ValueError("a negative size, or a layout without a type")
        if type is not None:
            fractal = checked_fractal(format, type, fractal, "layout")
        product = data.get("product")
        product = None if product is None else product_of(product)
        nbytes = tensor.nbytes
        entry = Entry(tensor.name, type, shape, format, fractal, product, nbytes)
        asked = sized(entry)
    except (AscendError, KeyError, TypeError, AttributeError, ValueError) as error:
        rule = "be described by its format, shape, dtype, fractal and product"
        said = error if isinstance(error, AscendError) else repr(error)
        got = f"{json.dumps(data)[:80]} ({said})"
        raise WeightsError(str(path), tensor.name, rule, got, _AGAIN, SOURCE) from None
    where = f"a tensor of {tensor.code} in {tensor.nbytes} bytes"
    said = f"{entry.stored} of {entry.type} {entry.shape}"
    known = entry.type is None or holds(tensor.code, entry.type)
    if not known or asked.nbytes != tensor.nbytes:
        rule = f"hold what the metadata say, {said} in {asked.nbytes} bytes"
        raise WeightsError(str(path), tensor.name, rule, where, _AGAIN, SOURCE)
    return entry
