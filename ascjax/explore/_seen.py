"""What the explorer shows of a choice: picture, formula, code, or what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._errors import AscendError
from .._move import Move
from ..pictures._draw import draw, sizes_of
from ..show._move import move_of
from ._code import c_code, jax_code
from ._form import Form, fields_of, item_named

MOST = 1 << 22
"""Elements of all buffers that are drawn, at most: half a second's work."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What is chosen.

    Attributes:
      product, path: None leaves them out of the checks.
      dtype: the Ascend C type.
      values: by the names of the form's items.
    """

    product: str | None
    path: str | None
    dtype: str
    values: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Seen:
    """What there is to see of a choice.

    Attributes:
      move: the move; None where it is refused.
      error: what is wrong; "" where nothing is.
      at: the item that is to change; "" where it is none of them, as product or path.
      svg, formula, jax, c: picture and texts; "" where there are none.
    """

    move: Move | None = None
    error: str = ""
    at: str = ""
    svg: str = ""
    formula: str = ""
    jax: str = ""
    c: str = ""


def seen(form: Form, choice: Choice) -> Seen:
    """What a choice shows.

    >>> from ascjax.explore._form import form_of
    >>> form = form_of("load2d")
    >>> choice = Choice("atlas_a2", "A1->A2", "half", form.values)
    >>> print(seen(form, choice).formula)
    for i < 3, r < 16, c < 16:
        dst[512*i + 16*r + c] = src[256 + 512*i + 16*r + c]
    >>> wrong = dataclasses.replace(choice, values={**form.values, "repeatTimes": 256})
    >>> seen(form, wrong).at
    'repeatTimes'
    """
    try:
        params = form.params.from_fields(fields_of(form, choice.values))
        options = {"product": choice.product, "path": choice.path}
        move = move_of(params, {**options, "dtype": choice.dtype})
        svg = draw(move).svg() if sizes_of(move) <= MOST else ""
        codes = jax_code(move), c_code(params, move.type)
        return Seen(move, "", "", svg, str(move.nests[0]), *codes)
    except AscendError as error:
        item = item_named(form, error.field)
        return Seen(error=str(error), at=item.name if item else "")
