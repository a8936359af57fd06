"""Weight files: models with weights in NZ as safetensors, checked when they are loaded.

Needs the package `safetensors`: pip install 'ascjax[weights]'.
"""

from ._convert import inspect as inspect
from ._convert import pack as pack
from ._convert import unpack as unpack
from ._entry import Entry as Entry
from ._error import WeightsError as WeightsError
from ._model import load as load
from ._model import save as save
