"""Dumps of a chip or a simulator, read and checked (docs/case-files.md)."""

from ..sweeps._dump import Dump as Dump
from ._check import check_dumps as check_dumps
from ._read import DumpError as DumpError
from ._read import read_dump as read_dump
