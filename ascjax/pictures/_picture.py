"""`Picture`: buffers side by side, as SVG, PNG, HTML or text."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

from .._errors import ParamError
from ._compose import compose
from ._extra import needed
from ._sheet import Sheet
from ._text import text_of

_FORMATS = ("svg", "png")
_DPI = 144
_FIXED = {"svg.hashsalt": "ascjax", "svg.fonttype": "none"}
_NO_METADATA = {
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "png": {"Software": None},
}


class Picture:
    """A picture of a move, a layout, a map or a pipeline; `asc.draw` makes it.

    It shows itself in a notebook; in a terminal `print` shows it as text.

    Attributes:
      sheet: what it shows.
    Raises: SupportError where matplotlib is not installed, when it is drawn.

    >>> import ascjax as asc
    >>> p = asc.LoadData2DParams(repeat_times=2, src_stride=2)
    >>> picture = asc.draw(asc.Move.of(p, dtype="half", src_size=768))
    >>> picture.svg()[:4], picture.png()[1:4]
    ('<svg', b'PNG')
    """

    def __init__(self, sheet: Sheet):
        self.sheet = sheet

    @functools.cached_property
    def figure(self) -> Any:
        """The matplotlib figure."""
        return compose(self.sheet)

    def svg(self) -> str:
        """The picture as SVG text; text in it stays text."""
        text = self._bytes("svg").decode()
        return text[text.index("<svg") :]

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file."""
        return self._bytes("png")

    def save(self, file: str | Path) -> None:
        """Write the picture; the suffix, `.svg` or `.png`, says how.

        Raises:
          ParamError: another suffix; a file that cannot be written.
        """
        path = Path(file)
        form = path.suffix.removeprefix(".").lower()
        if form not in _FORMATS:
            rule, fix = "end in .svg or .png", "Name it so."
            raise ParamError("draw", "file", rule, path.name, fix)
        picture = self._bytes(form)
        try:
            path.write_bytes(picture)
        except OSError as error:
            rule, fix = "be in a folder that can be written", "Name another file."
            got = f"{file} ({error.strerror})"
            raise ParamError("draw", "file", rule, got, fix) from None

    def _bytes(self, form: str) -> bytes:
        out = io.BytesIO()
        with needed("matplotlib.style").context(["default", _FIXED]):
            self.figure.savefig(out, format=form, dpi=_DPI, metadata=_NO_METADATA[form])
        return out.getvalue()

    def _repr_html_(self) -> str:
        return f'<div style="max-width: 100%; overflow-x: auto">{self.svg()}</div>'

    def __str__(self) -> str:
        return text_of(self.sheet)

    def __repr__(self) -> str:
        return f"<Picture of {self.sheet.title}>"
