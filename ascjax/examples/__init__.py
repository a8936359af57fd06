"""The documents' figures and worked examples, each with its numbers and their check.

`figures()` is the list: calls as a document issues them, what it says of them in our
own words, and a function that reads the same number off the map. The docs and a
notebook show it, tests hold it.

>>> from ascjax import examples
>>> figure = examples.figure("nz2nd-1")
>>> print(figure.name, figure.move.dst_size)
Figure 1 560
>>> for fact, shown in figure.checked()[3:5]:
...     print(f"{fact.field}: {fact.says}: {fact.number} {fact.unit}, the map: {shown}")
srcNdMatrixStride = 1: from A1 to C1 in the source: 256 elements, the map: 256
srcNStride = 4: from A1 to B1 in the source: 64 elements, the map: 64
"""

from ._figure import Fact as Fact
from ._figure import Figure as Figure
from ._list import LEFT_OUT as LEFT_OUT
from ._list import figure as figure
from ._list import figures as figures
