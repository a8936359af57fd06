"""Mirror: data blocks of 32 bytes, the last one first. A made-up instruction.

for i in range(blockCount):
    s = (startBlock + blockCount - 1 - i) * C0
    d = i * (dstGap + 1) * C0
    dst[d + e] = src[s + e]          0 <= e < C0
"""

import numpy as np

from ascjax import LoopNest, oracle
from ascjax.instr import Params, Site, integer


class MirrorParams(Params):
    """`LoadData(dst, src, MirrorParams)`: `block_count` data blocks, backwards.

    Args:
      start_block: first source block, [0, 65535] (32 bytes).
      block_count: blocks to move, [0, 4095]; 0 makes a NOP.
      dst_gap: destination blocks from the end of one to the start of the next,
        [0, 255]; even for 8 bits.

    >>> print(MirrorParams(1, 3, 2).explain("half"))
    for i < 3, e < 16:
        dst[48*i + e] = src[48 - 16*i + e]
    """

    instruction = "mirror"
    op = "load_data"
    source = "a made-up page"
    support = {"atlas_a2": {"A1->A2 B1->B2": "int8_t half float"}}

    start_block: int = integer(0, 65535, "blocks of 32 bytes")
    block_count: int = integer(0, 4095, "blocks of 32 bytes")
    dst_gap: int = integer(0, 255, "blocks of 32 bytes, end to start")

    def rules(self, site: Site) -> None:
        if site.type.bits == 8 and self.dst_gap % 2:
            self.refuse("dst_gap", "be even for 8-bit types (blocks)", "Round it up.")

    def nest(self, site: Site) -> LoopNest:
        c0 = site.type.c0
        last = self.start_block + self.block_count - 1
        return LoopNest.strided(
            last * c0,  # where the source starts
            0,  # where the destination starts
            # name, count, step in the source, step in the destination
            ("i", self.block_count, -c0, (self.dst_gap + 1) * c0),
            ("e", c0, 1, 1),
        )


@oracle.instruction("mirror")
def mirror(fields, bits):
    """The same again, from the formula above and nothing else."""
    c0 = 256 // bits
    e = np.arange(c0)
    for i in range(fields["blockCount"]):
        s = (fields["startBlock"] + fields["blockCount"] - 1 - i) * c0
        d = i * (fields["dstGap"] + 1) * c0
        yield d + e, s + e
