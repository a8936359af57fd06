"""The explorer: every field as a slider, with the picture, the formula and the code."""

from ._seen import Choice as Choice
from ._seen import Seen as Seen
from ._seen import seen as seen
