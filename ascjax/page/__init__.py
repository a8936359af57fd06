"""A run of `ascjax verify` as one HTML page, with pictures of what failed."""

from ._extra import check_report as check_report
from ._failure import Failure as Failure
from ._failure import failure_of as failure_of
from ._page import write_page as write_page
