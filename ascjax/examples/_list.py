"""All figures, and those of the documents that no map can show."""

from __future__ import annotations

from .._errors import ParamError
from ._figure import Figure
from ._load2dv2 import load2dv2
from ._nddma import nddma
from ._nz2nd import nz2nd
from ._transpose import transpose

LEFT_OUT = (
    (
        "Load2D",
        "Figure 1",
        "the structure of LoadData2DParamsV2, without numbers: the figure of "
        "Load2DV2's own document is rebuilt, which has them.",
    ),
    (
        "Load2D",
        "Examples",
        "a call of Load3D by the names of Load2D, which no compiler takes (errata E5).",
    ),
)
"""(document, name, why) of each figure or example that is not rebuilt."""


def figures() -> tuple[Figure, ...]:
    """Every figure and worked example of the five documents.

    >>> len(figures()), [f.id for f in figures() if f.refused]
    (28, ['ldwt-int4b_t-first'])
    """
    return (*load2dv2(), *transpose(), *nz2nd(), *nddma())


def figure(id: str) -> Figure:
    """The figure with the name `id`.

    Raises:
      ParamError: where there is none.

    >>> figure("load2dv2-2").title
    'where the transfer starts'
    """
    every = {figure.id: figure for figure in figures()}
    if id not in every:
        rule, fix = f"be one of {', '.join(every)}", "Use one of these names."
        raise ParamError("figure", "id", rule, repr(id), fix)
    return every[id]
