"""Diagnosis of dumps that are not what a kernel claims to have run."""

from ._diagnose import diagnose as diagnose
from ._explanation import Diagnosis as Diagnosis
from ._explanation import Explanation as Explanation
from ._rules import RULES as RULES
from ._rules import Candidate as Candidate
from ._rules import Claim as Claim
from ._rules import Rule as Rule
from ._rules import register as register
