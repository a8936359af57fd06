"""`ascjax list` and `ascjax show`: what there is, and one call with its numbers in."""

from ._commands import list_command as list_command
from ._commands import show_command as show_command
