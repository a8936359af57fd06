"""matplotlib, which only pictures need."""

from __future__ import annotations

import functools

from .._extras import extra

needed = functools.partial(extra, who="draw", what="for pictures", group="draw")
"""A module of matplotlib, or the error that names the extra."""
