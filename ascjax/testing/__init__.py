"""For the tests of kernel repositories: buffers against the calls they come from."""

from ._expected import expected as expected
from ._same import assert_same_move as assert_same_move
from ._sentinel import sentinel as sentinel
