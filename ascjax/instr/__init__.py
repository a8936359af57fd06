"""The instructions, one file each. A file dropped in here registers itself."""

import importlib
import pkgutil

from ._c_struct import CStruct as CStruct
from ._fields import constant as constant
from ._fields import flag as flag
from ._fields import ignored as ignored
from ._fields import integer as integer
from ._fields import integers as integers
from ._fields import part as part
from ._params import REGISTRY as REGISTRY
from ._params import Params as Params
from ._params import Site as Site
from ._params import params_class as params_class

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
