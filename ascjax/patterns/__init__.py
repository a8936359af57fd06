"""What failing cases of a run have in common that passing ones lack."""

from ._patterns import Pattern as Pattern
from ._patterns import Patterns as Patterns
from ._patterns import print_patterns as print_patterns
