"""Equinox modules that hold moves for a product."""

from ._moves import DataCopy as DataCopy
from ._moves import DataCopyPad as DataCopyPad
from ._moves import LoadData as LoadData
from ._moves import LoadDataWithTranspose as LoadDataWithTranspose
