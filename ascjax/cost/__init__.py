"""What moves, roads and matrix products cost by published figures, never measured ones.

Cycles are bytes / bandwidth + calls x overhead. The bandwidths are the vendor's,
labelled with their source (`SOURCES`); no overhead is published, so it is a parameter.
"""

from ._cost import Cost as Cost
from ._cost import Part as Part
from ._cost import of as of
from ._memory import Banks as Banks
from ._memory import Use as Use
from ._memory import bank_groups as bank_groups
from ._memory import capacity as capacity
from ._mmad import mmad as mmad
from ._rates import CLOCK as CLOCK
from ._rates import SOURCES as SOURCES
from ._tiling import Tiling as Tiling
from ._tiling import matmul as matmul
