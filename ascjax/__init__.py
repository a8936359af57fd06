"""Ascend NPU data moves as static index maps: print, jit, differentiate, verify."""

import importlib as _importlib
from typing import TYPE_CHECKING

from ._chain import Chain as Chain
from ._chain import chain as chain
from ._dtypes import AscendType as AscendType
from ._dtypes import ascend_type as ascend_type
from ._errors import AlignmentError as AlignmentError
from ._errors import AscendError as AscendError
from ._errors import BoundsError as BoundsError
from ._errors import OverlapError as OverlapError
from ._errors import ParamError as ParamError
from ._errors import SupportError as SupportError
from ._index_map import IndexMap as IndexMap
from ._layout import Layout as Layout
from ._layout import convert as convert
from ._mmad import mmad as mmad
from ._move import Call as Call
from ._move import Move as Move
from ._nest import FILL as FILL
from ._nest import KEEP as KEEP
from ._nest import Coord as Coord
from ._nest import Loop as Loop
from ._nest import LoopNest as LoopNest
from ._ops import data_copy as data_copy
from ._ops import data_copy_pad as data_copy_pad
from ._ops import fixpipe as fixpipe
from ._ops import load_data as load_data
from ._ops import load_data_with_transpose as load_data_with_transpose
from ._plan import Plan as Plan
from ._products import ATLAS_200I_500_A2 as ATLAS_200I_500_A2
from ._products import ATLAS_350 as ATLAS_350
from ._products import ATLAS_A2 as ATLAS_A2
from ._products import ATLAS_A3 as ATLAS_A3
from ._products import ATLAS_INFERENCE_AICORE as ATLAS_INFERENCE_AICORE
from ._products import ATLAS_INFERENCE_VECTOR as ATLAS_INFERENCE_VECTOR
from ._products import ATLAS_TRAINING as ATLAS_TRAINING
from ._products import KIRIN_9030 as KIRIN_9030
from ._products import KIRIN_X90 as KIRIN_X90
from ._products import PRODUCTS as PRODUCTS
from ._products import Product as Product
from ._products import product as product
from ._run import run_move as run_move
from ._runs import Runs as Runs
from ._sequence import Sequence as Sequence
from ._sequence import sequence as sequence
from .instr import Params as Params
from .instr.data_copy import DataCopyParams as DataCopyParams
from .instr.data_copy_pad import DataCopyExtParams as DataCopyExtParams
from .instr.data_copy_pad import DataCopyPadExtParams as DataCopyPadExtParams
from .instr.fixpipe import FixpipeParams as FixpipeParams
from .instr.load2d import LoadData2DParams as LoadData2DParams
from .instr.load2dv2 import LoadData2DParamsV2 as LoadData2DParamsV2
from .instr.load3dv2 import LoadData3DParamsV2 as LoadData3DParamsV2
from .instr.load3dv2 import LoadDataRepeatParam as LoadDataRepeatParam
from .instr.load_data_with_transpose import (
    LoadData2dTransposeParams as LoadData2dTransposeParams,
)
from .instr.load_data_with_transpose import (
    LoadData2dTransposeParamsV2 as LoadData2dTransposeParamsV2,
)
from .instr.mmad import MmadParams as MmadParams
from .instr.nd2nz import Nd2NzParams as Nd2NzParams
from .instr.nddma import NdDmaConfig as NdDmaConfig
from .instr.nddma import NdDmaLoopInfo as NdDmaLoopInfo
from .instr.nddma import NdDmaParams as NdDmaParams
from .instr.nddma import nddma_dci as nddma_dci
from .instr.nz2nd import Nz2NdParamsFull as Nz2NdParamsFull

if TYPE_CHECKING:
    from . import cost as cost
    from . import examples as examples
    from . import nn as nn
    from . import oracle as oracle
    from . import testing as testing
    from . import weights as weights
    from .diagnosis import Diagnosis as Diagnosis
    from .diagnosis import Explanation as Explanation
    from .diagnosis import diagnose as diagnose
    from .pictures import Picture as Picture
    from .pictures import draw as draw
    from .pictures import draw_difference as draw_difference
    from .sweeps import Sweep as Sweep
    from .sweeps import sweep as sweep

# What an import need not wait for: packages, and the names that come from them.
_PACKAGES = ("cost", "examples", "nn", "oracle", "testing", "weights")
_LATER = {
    "diagnosis": ("Diagnosis", "Explanation", "diagnose"),
    "pictures": ("Picture", "draw", "draw_difference"),
    "sweeps": ("Sweep", "sweep"),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}


def __getattr__(name: str):
    """A package, or a name of one, when it is first used."""
    if name in _PACKAGES or name in _LATER:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _HOMES:
        found = getattr(_importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found  # the next time it is there
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_PACKAGES, *_HOMES})
