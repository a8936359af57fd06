"""safetensors files, a tensor at a time: headers read and written, bytes as they are.

The library checks every header, of files that are read and of files that were written.
It hands out neither the bytes of types that NumPy lacks, nor does it write a tensor
before it has all of them; so the bytes themselves are moved here.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import ParamError
from .._extras import extra
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
    return extra("safetensors", "weights", "for weight files", "weights")


def _named(path: Any) -> Path:
    """The path of a file that users name."""
    if isinstance(path, str | os.PathLike):
        return Path(path)
    rule, got = "be the name of a file, a text or a path", type(path).__name__
    fix = "The calls are save(path, model), load(path, like), pack(src, dst)."
    raise ParamError("weights", "path", rule, got, fix, SOURCE)


_TORCH = "Load it with torch.load, write its tensors with safetensors.torch.save_file."
# How files of other kinds start, what they are, and what to do.
_KINDS = (
    (
        rb"PK\x03\x04.{26}.*\.npy",
        "an .npz file of NumPy's",
        "Load it with np.load, write its arrays with safetensors.numpy.save_file.",
    ),
    (rb"PK\x03\x04", "a zip archive, such as torch.save writes", _TORCH),
    (rb"\x80[\x02-\x05]", "a pickle, such as torch.save once wrote", _TORCH),
    (
        rb"version https://git-lfs",
        "a git-lfs pointer, which stands for the file",
        "Run git lfs pull.",
    ),
    (
        rb"\s*<(!doctype|html)",
        "an HTML page",
        "Download the file itself, not the page that shows it.",
    ),
    (
        rb'\s*\{\s*"',
        "JSON, such as the index of a model in shards",
        "Name its shards one by one: each is a safetensors file.",
    ),
)


def _kind_of(head: bytes) -> tuple[str, str] | None:
    """What a file that starts so is, and what to do, where it is of a known kind."""
    if not any(head[4:8]):  # safetensors' own: the high half of the header's length
        return None
    for start, kind, fix in _KINDS:
        if re.match(start, head, re.DOTALL | re.IGNORECASE):
            return kind, fix
    return None


def read(path: Where) -> File:
    """The header of a file.

    Raises:
      WeightsError: for a file that is none, or not a whole safetensors file.
    """
    safetensors, path = library(), _named(path)
    if not path.is_file():
        got = "a directory" if path.is_dir() else "no such file"
        fix = "Name a .safetensors file."
        raise WeightsError(str(path), "the file", "exist", got, fix, SOURCE)
    head = b""
    try:
        with path.open("rb") as file:
            head = file.read(256)
            with safetensors.safe_open(path, framework="np"):
                pass  # the header was checked
            file.seek(8)
            length = int.from_bytes(head[:8], "little")
            header = json.loads(file.read(length))
    except (safetensors.SafetensorError, OSError) as error:
        rule = "be a whole safetensors file"
        got = f"{path.stat().st_size} bytes of which safetensors says: {error}"
        fix = "Copy or write it again; it may have been cut short, or be another kind, "
        fix += "or have types that a newer safetensors knows."
        if kind := _kind_of(head):
            got, fix = f"what looks like {kind[0]}", kind[1]
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
    """Raise WeightsError for a directory, or a file that must not be replaced."""
    if _named(path).is_dir():
        rule, got, fix = "be a file to write", "a directory", "Name a file in it."
        raise WeightsError(str(path), "the file", rule, got, fix, SOURCE)
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
