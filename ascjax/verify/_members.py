"""Members of case files: which there are, and which are slips rather than comments."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping

from ..instr import REGISTRY
from ._names import COMPUTES, plain

_SITE = "id instruction product path dtype itembits src_size dst_size overlap why"
_DUMP = ("dump", "src", "dst_before", "dst_after")
_CASE = (*_SITE.split(), "error", "field", "documented", *_DUMP)
_CALL = ("instruction", "fields", "src_offset", "dst_offset")
_OFFSETS = ("src_offset", "dst_offset")


@dataclasses.dataclass(frozen=True)
class Members:
    """What one object may hold.

    Attributes:
      known: members that are read.
      comments: those that are not, though their names are like some that are.
      elsewhere: {plain name: where it stands} of members that are read elsewhere.
    """

    known: tuple[str, ...]
    comments: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def slip(self, name: str) -> tuple[str, str, str] | None:
        """What is wrong with a member, as (rule, got, fix); None for a comment too.

        >>> Members(("src_offset",)).slip("src_ofset")[2]
        'Write src_offset, or give a comment another name.'
        >>> Members(("src_offset",)).slip("note") is None
        True
        """
        if name in (*self.known, *self.comments):
            return None
        short, other = plain(name), "or give a comment another name."
        spelt = {plain(member): member for member in self.known}
        if short not in spelt and short in self.elsewhere:
            place = self.elsewhere[short]
            return f"stand in {place}", "it beside", f"Move it into {place}, {other}"
        close = difflib.get_close_matches(short, spelt, n=1, cutoff=0.8)
        if not close:
            return None
        meant = spelt[close[0]]
        rule = "not look like a member that it is not"
        return rule, f"a name like {meant}", f"Write {meant}, {other}"


def of_case(instruction: str, calls: bool) -> Members:
    """Those of a case with `fields`, or with `calls`."""
    own = _fields(instruction)
    if calls:
        return Members((*_CASE, "calls"), (), {**own, **_stand(_OFFSETS, "each call")})
    return Members((*_CASE, *_CALL), (), own)


def of_call(instruction: str) -> Members:
    """Those of a call in a list of them."""
    there = _stand(_CASE, "the case")
    return Members(_CALL, ("id",), {**there, **_fields(instruction)})


SCENARIO = Members(("id", "product", "dtype", "m", "n", "k", "a", "b"))
_L0 = ("l0_shape", "l0_fractal", "l0_outer")
OPERAND = Members(
    ("gm_shape", "transpose", "gm_to_l1", "l1_to_l0", *_L0),
    ("l1_shape", "l1_format", "l0_matrix"),
)


def _fields(instruction: str) -> dict[str, str]:
    """The struct's fields; of `config.loopLpSize` the object is one too."""
    structs = {**REGISTRY, **COMPUTES}
    if instruction not in structs:
        return {}
    names = structs[instruction].c_fields()
    return _stand((name.partition(".")[0] for name in names), "fields")


def _stand(names: Iterable[str], place: str) -> dict[str, str]:
    return {plain(name): place for name in names}
