"""The buffers of a dump from files, as bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._dtypes import AscendType, ascend_type
from .._errors import AscendError, SupportError
from ..instr import Params
from ..sweeps._bits import bits_of, word
from ..sweeps._dump import Dump
from ..verify._cases import Case, DumpFiles
from ..verify._engine import calls_of
from ..verify._result import BadFile
from ._archives import member_of

_KINDS = ".bin, .npy, .npz:member or .safetensors:name"


class DumpError(AscendError):
    """A file of a dump that does not give its buffer.

    Attributes:
      status: "missing", "truncated", "overlong", "mistyped" or "unreadable".
    """

    def __init__(self, status: BadFile, file: str, rule: str, got: object, fix: str):
        super().__init__(file, "the buffer", rule, got, fix, "docs/case-files.md")
        self.status: BadFile = status


def read_dump(case: Case) -> Dump:
    """The buffers of a case that has a dump.

    Args:
      case: whose `dump` says where they lie, from its file on.
    Raises:
      DumpError: what is missing, of another length or type, or no file of its kind.
      AscendError: fields or a type that are refused.
    """
    named = case.dump
    if named is None:
        raise TypeError(f"case {case.id} has no dump")
    params = calls_of(case)[0].params
    type = params.counted(ascend_type(case.dtype))
    return read_files(Path(case.file).parent, named, params, type)


def read_files(
    folder: Path, named: DumpFiles, params: Params, type: AscendType
) -> Dump:
    """The buffers that some files hold.

    Args:
      folder: from which on they are named.
      named: the names.
      params: of the call, which says the destination's type.
      type: the source's, as the call counts it.
    Raises:
      DumpError: what is missing, of another length or type, or no file of its kind.
    """
    arrives = params.arrives(type)
    src_size, dst_size = named.sizes
    src = _buffer(folder, named.src, src_size, type)
    after = _buffer(folder, named.dst_after, dst_size, arrives)
    before = None
    if named.dst_before is not None:
        try:
            before = _buffer(folder, named.dst_before, after.size, arrives)
        except DumpError as error:
            if not (named.may_lack_before and error.status == "missing"):
                raise
    return Dump(src, before, after)


def _buffer(folder: Path, name: str, size: int | None, type: AscendType) -> np.ndarray:
    file, _, member = name.partition(":")
    path = folder / file
    kind = path.suffix
    readers = {".bin": _raw, ".npy": _npy, ".npz": member_of, ".safetensors": member_of}
    if kind not in readers or bool(member) != (kind in (".npz", ".safetensors")):
        rule, fix = f"be named as {_KINDS}", "Correct the case."
        raise DumpError("unreadable", name, rule, name, fix)
    try:
        held = readers[kind](path, member)
    except FileNotFoundError:
        fix = "Names are relative to the case file."
        raise DumpError("missing", name, "be there", "no such file", fix) from None
    except KeyError:
        got, fix = f"no member {member!r}", "Correct the name."
        raise DumpError("missing", name, "be there", got, fix) from None
    except SupportError:
        raise
    except Exception as error:  # on damaged data NumPy raises nearly anything
        said = f"{error.__class__.__name__} ({' '.join(str(error).split())})"
        rule, fix = f"be a readable {kind} file", "Write it again."
        raise DumpError("unreadable", name, rule, said, fix) from None
    if kind == ".bin":
        return _of_bytes(name, held, size, type)
    return _of_array(name, held, size, type)


def _of_bytes(
    name: str, held: np.ndarray, size: int | None, type: AscendType
) -> np.ndarray:
    """The elements of raw bytes, little-endian; 4-bit ones packed."""
    if type.bits == 4:
        return _of_array(name, held, size, type)
    unit = type.bits // 8
    if size is None and held.size % unit:
        rule = f"hold whole elements of {type} ({unit} bytes)"
        got, fix = f"{held.size} bytes", "Write all of the buffer."
        raise DumpError("truncated", name, rule, got, fix)
    _check_length(name, held.size, None if size is None else size * unit, type)
    return held.view(f"<u{unit}").astype(word(type), copy=False)


def _of_array(
    name: str, held: np.ndarray, size: int | None, type: AscendType
) -> np.ndarray:
    """The elements of an array of the type, or of unsigned integers of its bits; the
    bytes of packed 4-bit ones."""
    packed = type.bits == 4 and held.dtype == np.uint8
    same = held.dtype.itemsize * 8 == max(8, type.bits)
    nameless = held.dtype.kind == "V" and held.dtype.names is None
    known = held.dtype.name in (type.carrier, word(type)) or nameless
    if not packed and not (same and known):
        rule = f"hold {type}, or unsigned integers of its {type.bits} bits"
        got, fix = f"an array of {held.dtype}", "Write the type that the case names."
        raise DumpError("mistyped", name, rule, got, fix)
    flat = held.reshape(-1)
    if nameless:  # a type of JAX's that NumPy's files do not name
        flat = flat.view(word(type))
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    each = 2 if packed else 1
    want = None if size is None else -(-size // each) * flat.itemsize
    _check_length(name, flat.nbytes, want, type)
    return bits_of(flat, type, packed)[:size]


def _check_length(name: str, got: int, want: int | None, type: AscendType) -> None:
    if want is None or got == want:
        return
    status: Any = "truncated" if got < want else "overlong"
    rule = f"hold {want} bytes, by the case's size and {type}"
    fix = "Write all of the buffer, and no more, or correct the case's size."
    raise DumpError(status, name, rule, f"{got} bytes", fix)


def _raw(path: Path, member: str) -> np.ndarray:
    return np.fromfile(path, np.uint8)


def _npy(path: Path, member: str) -> np.ndarray:
    with path.open("rb") as file:
        held = np.load(file, allow_pickle=False)
    if not isinstance(held, np.ndarray):
        raise ValueError("an archive of arrays, not one")
    return held
