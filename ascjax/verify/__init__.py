"""Verification from Python: case files of your own, read and checked.

The command is `ascjax verify`; the formats are in docs/case-files.md.

>>> from ascjax import verify
>>> fields = {"repeatTimes": 3, "srcStride": 1}
>>> step = verify.Step("load2d", fields)
>>> case = verify.Case("too long", "", (step,), None, None, "half", 512, 768)
>>> verify.check_case(case).message
'refused: load2d: src must hold elements [0, 768), which the move reads, got 512 ...'
"""

from ._cases import Case as Case
from ._cases import Scenario as Scenario
from ._check import Result as Result
from ._check import check_case as check_case
from ._entry import CaseFileError as CaseFileError
from ._entry import Step as Step
from ._files import case_files as case_files
from ._read import read_cases as read_cases
from ._read import stream_cases as stream_cases
