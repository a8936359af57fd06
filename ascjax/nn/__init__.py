"""Equinox modules that hold moves for a product."""

from ._mmad import Mmad as Mmad
from ._moves import DataCopy as DataCopy
from ._moves import DataCopyPad as DataCopyPad
from ._moves import Fixpipe as Fixpipe
from ._moves import LoadData as LoadData
from ._moves import LoadDataWithTranspose as LoadDataWithTranspose
from ._pipeline import Held as Held
from ._pipeline import Pipeline as Pipeline
from .cube._matmul import CubeMatmul as CubeMatmul
