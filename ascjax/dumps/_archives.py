"""Archives with the buffers of many dumps: each is opened once, not for each buffer."""

from __future__ import annotations

import atexit
import collections
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..weights._file import read
from ..weights._types import type_of

_OPEN = 8  # archives at one time


class _Held(NamedTuple):
    """An open archive: the file as it was when it was opened, what gives its members,
    and what closes it."""

    stamp: tuple[int, int, int]
    get: Callable[[str], np.ndarray]
    close: contextlib.ExitStack


_held: collections.OrderedDict[Path, _Held] = collections.OrderedDict()


def member_of(path: Path, name: str) -> np.ndarray:
    """One array of a .npz or .safetensors file, as NumPy has it.

    Raises:
      FileNotFoundError: where there is no such file.
      KeyError: where it has no such member.
      Exception: nearly anything, where it is damaged.
    """
    path = path.absolute()
    stat = path.stat()
    stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    held = _held.pop(path, None)
    if held is not None and held.stamp != stamp:
        held.close.close()
        held = None
    if held is None:
        held = _Held(stamp, *_opened(path))
    _held[path] = held
    while len(_held) > _OPEN:
        _held.popitem(last=False)[1].close.close()
    return held.get(name)


@atexit.register
def close_all() -> None:
    """Close what is open."""
    while _held:
        _held.popitem()[1].close.close()


def _opened(path: Path) -> tuple[Callable[[str], np.ndarray], contextlib.ExitStack]:
    if path.suffix == ".safetensors":
        return _of_safetensors(path), contextlib.ExitStack()
    with contextlib.ExitStack() as stack:
        held: Any = np.load(stack.enter_context(path.open("rb")), allow_pickle=False)
        if isinstance(held, np.ndarray):
            raise ValueError("one array, no archive of them")
        return held.__getitem__, stack.pop_all()
    raise RuntimeError  # a stack swallows nothing


def _of_safetensors(path: Path) -> Callable[[str], np.ndarray]:
    file = read(path)
    tensors = {tensor.name: tensor for tensor in file.tensors}

    def get(name: str) -> np.ndarray:
        tensor = tensors[name]
        type = type_of(tensor.code, tensor.shape)
        held = file.block(tensor)
        # Types of less than a byte stay packed bytes.
        return held if type is None or type.bits < 8 else held.view(type.carrier)

    return get
