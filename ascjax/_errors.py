"""One family of errors. Each says who, which field, the rule with its unit, the value
given, what to do, and the document's table."""

from __future__ import annotations

from typing import Any, Self


class AscendError(ValueError):
    """A move that the documents do not allow, refused while tracing.

    Args:
      who: the instruction or the public name that refuses.
      field: the parameter at fault, in snake_case.
      rule: what must hold, with its unit; reads on from "must".
      got: the value that was given, with enough around it to recognise it.
      fix: one sentence that says what to do.
      source: the document and table that the rule comes from.

    All six stay readable as attributes, so that tools need not parse the text.

    >>> print(AscendError("load2d", "repeat_times", "be in [0, 255] (fractals)", 256,
    ...                   "Split the move into several calls.", "Load2D, Table 3"))
    load2d: repeat_times must be in [0, 255] (fractals), got 256. Split the move into several calls. [Load2D, Table 3]
    """  # noqa: E501

    def __init__(
        self,
        who: str,
        field: str,
        rule: str,
        got: object,
        fix: str,
        source: str | None = None,
    ):
        super().__init__(who, field, rule, got, fix, source)
        self.who = who
        self.field = field
        self.rule = rule
        self.got = got
        self.fix = fix
        self.source = source

    def changed(self, **parts: Any) -> Self:
        """The same error with some of its parts changed.

        >>> error = BoundsError("load2d", "src", "hold 2", 1, "Pass more.")
        >>> print(error.changed(who="me"))
        me: src must hold 2, got 1. Pass more.
        """
        names = ("who", "field", "rule", "got", "fix", "source")
        return type(self)(**{**{name: getattr(self, name) for name in names}, **parts})

    def __str__(self) -> str:
        text = f"{self.who}: {self.field} must {self.rule}, got {self.got}. {self.fix}"
        return f"{text} [{self.source}]" if self.source else text


class ParamError(AscendError):
    """A parameter breaks its own rule: range, type, multiple, or a static field traced.

    >>> import ascjax as asc
    >>> asc.LoadData2DParams(repeat_times=256)
    Traceback (most recent call last):
    ...
    ascjax._errors.ParamError: load2d: repeat_times must be in [0, 255] ...
    """


class SupportError(AscendError):
    """The product does not have this instruction, path or type, or ascjax does not yet.

    >>> import ascjax as asc
    >>> asc.product("atlas_900")
    Traceback (most recent call last):
    ...
    ascjax._errors.SupportError: ascjax: product must be one of ...
    """


class BoundsError(AscendError):
    """A read leaves the source, or a write leaves the destination.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> asc.load_data(jnp.zeros(300, "int8"), asc.LoadData2DParams(repeat_times=1))
    Traceback (most recent call last):
    ...
    ascjax._errors.BoundsError: load2d: src must hold elements [0, 512), ...
    """


class AlignmentError(AscendError):
    """An operand's start is not on the boundary that its position asks for (bytes).

    >>> import ascjax as asc, jax.numpy as jnp
    >>> one = asc.LoadData2DParams(repeat_times=1)
    >>> asc.load_data(jnp.zeros(512, "int8"), one, path="L1->L0A", dst_offset=32)
    Traceback (most recent call last):
    ...
    ascjax._errors.AlignmentError: load2d: dst_offset must start on a multiple of ...
    """


class OverlapError(AscendError):
    """Two writes of one instruction meet in one destination element (or may meet).

    >>> import ascjax as asc, jax.numpy as jnp
    >>> rows = asc.Nz2NdParamsFull(1, 4, 32, 1, 4, dst_d_stride=16)
    >>> asc.data_copy(jnp.zeros(128), rows)
    Traceback (most recent call last):
    ...
    ascjax._errors.OverlapError: nz2nd: dst must be written at most once ...
    """
