"""Pictures of moves, layouts, maps and pipelines, made from their maps."""

from ._draw import draw as draw
from ._draw import draw_difference as draw_difference
from ._picture import Picture as Picture
