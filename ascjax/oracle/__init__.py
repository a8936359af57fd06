"""The oracle: what each instruction does, in numpy loops to hold against the spec.

Written from instructions.md, formula by formula, with its names (C0, F, n, i, j, h, r,
c). It shares nothing with the engine but the classes of the errors, so where the two
agree, the agreement means something. A rule yields writes in the order of the spec's
iterations; `run` applies them and checks bounds and overlap, nothing else. A NOP yields
nothing.
"""

from ._copies import data_copy, data_copy_pad, nd2nz, nddma, nz2nd
from ._cube import fixpipe, mmad
from ._layouts import layout
from ._load3d import load3dv2
from ._loads import ldwt_v1, ldwt_v2, load2d, load2dv2
from ._machine import FILL, INSTRUCTIONS, instruction, run, writes

__all__ = [
    "FILL",
    "INSTRUCTIONS",
    "data_copy",
    "data_copy_pad",
    "fixpipe",
    "instruction",
    "layout",
    "ldwt_v1",
    "ldwt_v2",
    "load2d",
    "load2dv2",
    "load3dv2",
    "mmad",
    "nd2nz",
    "nddma",
    "nz2nd",
    "run",
    "writes",
]
