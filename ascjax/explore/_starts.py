"""Calls that show at a glance what an instruction does: where the explorer starts."""

from __future__ import annotations

from typing import NamedTuple

from ..instr import Params
from ..instr.data_copy import DataCopyParams
from ..instr.data_copy_pad import DataCopyExtParams, DataCopyPadExtParams
from ..instr.fixpipe import FixpipeParams
from ..instr.load2d import LoadData2DParams
from ..instr.load2dv2 import LoadData2DParamsV2
from ..instr.load3dv2 import LoadData3DParamsV2
from ..instr.load_data_with_transpose import (
    LoadData2dTransposeParams,
    LoadData2dTransposeParamsV2,
)
from ..instr.nd2nz import Nd2NzParams
from ..instr.nddma import NdDmaLoopInfo, NdDmaParams
from ..instr.nz2nd import Nz2NdParamsFull


class Start(NamedTuple):
    """A first call, where it runs, and its type."""

    params: Params
    product: str
    path: str
    dtype: str


_A2, _350 = "atlas_a2", "atlas_350"
_LOOPS = NdDmaLoopInfo((1, 8), (1, 16), (8, 2), (3, 1), (5, 1))
_MAP = LoadData3DParamsV2(
    (1, 1, 1, 1), 4, 8, 16, k_extension=144, m_extension=32, filter_w=3, filter_h=3
)
_PAD = DataCopyPadExtParams(True, 2, 1, 0)

STARTS: dict[str, Start] = {
    start.params.instruction: start
    for start in (
        Start(LoadData2DParams(1, 3, 2, 0, 1), _A2, "A1->A2", "half"),
        Start(LoadData2DParamsV2(2, 2, 2, 3, 5, 3), _350, "A1->A2", "half"),
        Start(_MAP, _A2, "A1->A2", "half"),
        Start(LoadData2dTransposeParams(0, 3, 1, 0, 2), _A2, "B1->B2", "int8_t"),
        Start(LoadData2dTransposeParamsV2(0, 3, 2, 1), _350, "B1->B2", "int8_t"),
        Start(Nz2NdParamsFull(2, 4, 32, 1, 4, 160, 48), _A2, "VECOUT->GM", "half"),
        Start(NdDmaParams(_LOOPS, 0), _350, "GM->VECIN", "float"),
        Start(Nd2NzParams(1, 5, 20, 0, 24, 16, 1, 0), _A2, "GM->A1", "half"),
        Start(DataCopyParams(3, 2, 1, 2), _A2, "GM->VECIN", "half"),
        Start(
            DataCopyExtParams(3, 40, 8, 1, pad_params=_PAD), _A2, "GM->VECIN", "half"
        ),
        Start(
            FixpipeParams(20, 3, 16, 24, quant_pre="F322F16"), _A2, "CO1->GM", "float"
        ),
    )
}
