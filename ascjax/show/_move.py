"""The move of params alone: its source as long as what is read."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._errors import BoundsError
from .._move import Move
from ..instr import Params

_UNBOUNDED = 2**100  # beyond all that a field can ask for


def move_of(params: Params, options: dict[str, Any]) -> Move:
    """The checked move; without a size, the source is as long as what is read."""
    if "src_size" in options:
        return Move.of(params, **options)
    offset = options.pop("src_offset", 0)
    try:
        move = Move.of(params, src_size=_UNBOUNDED, src_offset=offset, **options)
    except BoundsError as error:
        if error.field != "src":
            raise
        late = {**options, "src_offset": _UNBOUNDED, "overlap": "last"}
        nest = Move.of(params, src_size=2 * _UNBOUNDED, **late).nests[0]
        first = (nest.src_range() or (0, 0))[0] - _UNBOUNDED + offset
        raise BoundsError(
            error.who,
            "src",
            "be read from its element 0 on",
            f"a read of element {first}",
            "Start later in it, or correct the counts, strides and offsets.",
            error.source,
        ) from None
    nest = move.nests[0]
    read = nest.src_range() if nest.volume else None
    needed = move.calls[0].src_offset if read is None else read[1] + 1
    return dataclasses.replace(move, src_size=needed)
