"""The golden files: cases as JSON, maps as npz (docs/case-files.md)."""

import functools
import json
from pathlib import Path

import numpy as np

import ascjax as asc
from ascjax.instr import params_class

GOLDEN = Path(__file__).parent / "golden"
KEEP, FILL = -1, -2
SETS = (
    *("load2d", "load2dv2", "load3dv2", "ldwt_v1", "ldwt_v2", "nz2nd", "nddma"),
    "nd2nz",
)


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def calls_of(case):
    return case.get("calls", [case])


def move_of(case):
    """The case as a `Move`, every check of the engine included."""
    cls = params_class(case["instruction"])
    calls = tuple(
        asc.Call(
            cls.from_fields(call["fields"]),
            call.get("src_offset", 0),
            call.get("dst_offset", 0),
        )
        for call in calls_of(case)
    )
    return asc.Move.sequence(
        calls,
        src_size=case["src_size"],
        dst_size=case["dst_size"],
        product=case["product"],
        path=case["path"],
        dtype=case["dtype"],
    )


def oracle_map(case):
    out = np.full(case["dst_size"], KEEP, np.int32)
    for call in calls_of(case):
        out = asc.oracle.run(
            case["instruction"],
            call["fields"],
            case["itembits"],
            np.arange(case["src_size"], dtype=np.int32),
            out,
            src_offset=call.get("src_offset", 0),
            dst_offset=call.get("dst_offset", 0),
            pad=FILL,
            product=case["product"],
            path=case["path"],
        )
    return out


CASES = {case["id"]: case for name in SETS for case in load(name)}
SITES = {c["id"]: c for c in load("callsites") if c["instruction"] in SETS}
INVALID = [c for c in load("invalid") if c["instruction"] in SETS]


@functools.cache
def golden_maps():
    """Every golden map by the id of its case."""
    found = {}
    for name in (*SETS, "callsites"):
        with np.load(GOLDEN / f"{name}.npz") as held:
            found.update({key: held[key] for key in held.files})
    return found
