"""safetensors files, a tensor at a time: headers read and written, bytes as they are.

The library checks every header, of files that are read and of files that were written.
It hands out neither the bytes of types that NumPy lacks, nor does it write a tensor
before it has all of them; so the bytes themselves are moved here.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import SupportError
from ._error import WeightsError

SOURCE = "docs/weights.md"
Where = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One tensor as a header has it: its type in safetensors' word, its shape."""

    name: str
    code: str
    shape: tuple[int, ...]
    nbytes: int
    start: int = 0  # in the file, where it was read from one


@dataclasses.dataclass(frozen=True)
class File:
    """What a file's header says; tensors in the order of their bytes."""

    path: Path
    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, str]

    def block(self, tensor: Tensor) -> np.ndarray:
        """The bytes of a tensor, in memory of their own."""
        return np.fromfile(self.path, np.uint8, tensor.nbytes, offset=tensor.start)


def library() -> Any:
    """The package safetensors, which only weight files need.

    Raises:
      SupportError: where it is not installed.
    """
    try:
        import safetensors
    except ImportError:
        raise SupportError(
            "weights",
            "the package safetensors",
            "be installed for weight files",
            "none",
            "Run pip install 'ascjax[weights]'.",
        ) from None
    return safetensors


def read(path: Where) -> File:
    """The header of a file.

    Raises:
      WeightsError: for a file that is none, or not a whole safetensors file.
    """
    safetensors, path = library(), Path(path)
    if not path.is_file():
        got = "a directory" if path.is_dir() else "no such file"
        fix = "Name a .safetensors file."
        raise WeightsError(str(path), "the file", "exist", got, fix, SOURCE)
    try:
        with safetensors.safe_open(path, framework="np"):
            pass  # the header was checked
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
    except (safetensors.SafetensorError, OSError) as error:
        rule = "be a whole safetensors file"
        got = f"{path.stat().st_size} bytes of which safetensors says: {error}"
        fix = "Copy or write it again; it may have been cut short, or be another kind, "
        fix += "or have types that a newer safetensors knows."
        raise WeightsError(str(path), "the file", rule, got, fix, SOURCE) from None
    metadata = header.pop("__metadata__", None) or {}
    tensors = []
    for name, one in header.items():
        start, stop = one["data_offsets"]
        shape = tuple(one["shape"])
        at = 8 + length + start
        tensors.append(Tensor(name, one["dtype"], shape, stop - start, at))
    tensors.sort(key=lambda tensor: tensor.start)
    return File(path, tuple(tensors), metadata)


def check_free(path: Where, overwrite: bool) -> None:
    """Raise WeightsError where a file exists that must not be replaced."""
    if Path(path).exists() and not overwrite:
        rule, got = "not exist yet", "one that does"
        fix = "Name another one, or ask for it: overwrite=True, or --overwrite."
        raise WeightsError(str(path), "the file", rule, got, fix, SOURCE)


def write(
    path: Where,
    tensors: Sequence[Tensor],
    metadata: Mapping[str, str],
    blocks: Iterable[np.ndarray],
    overwrite: bool,
) -> None:
    """Write a file under another name, which it takes when it is whole.

    Args:
      path: its name.
      tensors: what it holds, in order; `start` is not looked at.
      metadata: safetensors' own.
      blocks: the bytes of each tensor; each is written before the next is asked for.
      overwrite: whether a file of that name may be replaced.
    """
    check_free(path, overwrite)
    target = Path(path).resolve()  # a link stays a link
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(_header(tensors, metadata))
            for _, block in zip(tensors, blocks, strict=True):
                file.write(block.data)
        read(part)
        part.replace(target)
    except OSError as error:
        got = error.strerror or type(error).__name__
        fix = "Name a file in a directory that you may write to, and that has room."
        raise WeightsError(
            str(path), "the file", "be writable", got, fix, SOURCE
        ) from None
    finally:
        part.unlink(missing_ok=True)


def _header(tensors: Sequence[Tensor], metadata: Mapping[str, str]) -> bytes:
    table: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for tensor in tensors:
        table[tensor.name] = {
            "dtype": tensor.code,
            "shape": tensor.shape,
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
