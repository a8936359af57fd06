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
from .layers._attention import NZAttention as NZAttention
from .layers._convert import to_nd as to_nd
from .layers._convert import to_nz as to_nz
from .layers._linear import NZLinear as NZLinear
from .layers._linear_int8 import NZLinearInt8 as NZLinearInt8
from .layers._quantise import quantise as quantise
from .layers.conv._layer import NZConv2d as NZConv2d
