"""Gaps read as strides and strides as gaps, by what a step passes over; what no kernel
may be written to do, and what would write without end."""

from typing import Any

import numpy as np
import pytest

import ascjax as asc
from ascjax.diagnosis import _diagnose

SRC = np.arange(4096, dtype="uint16")
ND2NZ = {
    "ndNum": 1,
    "nValue": 7,
    "dValue": 40,
    "srcDValue": 45,
    "dstNzC0Stride": 7,
    "dstNzNStride": 1,
}


def copied(really):
    """What a call leaves, and what was there before."""
    before = np.full(4096, 0xFFFF, "uint16")
    left = asc.data_copy(SRC, really, dst=before, dtype="uint16_t")
    return before, np.asarray(left)


@pytest.mark.parametrize(
    ("cls", "claimed", "really", "text"),
    [
        (
            asc.DataCopyParams,
            {"blockCount": 4, "blockLen": 20, "dstGap": 23},
            {"dstGap": 3},
            "dst_gap were 3 (claimed 23), as a stride, from start to start",
        ),
        (
            asc.DataCopyParams,
            {"blockCount": 4, "blockLen": 20, "srcGap": 11},
            {"srcGap": 31},
            "src_gap were 31 (claimed 11), as a gap, from end to start",
        ),
        (
            asc.Nd2NzParams,
            {**ND2NZ, "srcDValue": 85},
            {"srcDValue": 45},
            "src_d_value were 45 (claimed 85), as a stride, from start to start",
        ),
        (  # rows whose last block is partly padding
            asc.Nd2NzParams,
            {**ND2NZ, "dValue": 35, "srcDValue": 43},
            {"srcDValue": 78},
            "src_d_value were 78 (claimed 43), as a gap, from end to start",
        ),
        (
            asc.Nd2NzParams,
            {**ND2NZ, "dstNzC0Stride": 20},
            {"dstNzC0Stride": 27},
            "dst_nz_c0_stride were 27 (claimed 20), as a gap, from end to start",
        ),
    ],
)
def test_a_step_counted_from_the_other_end_is_named(cls, claimed, really, text):
    before, after = copied(cls.from_fields({**claimed, **really}))
    found = asc.diagnose(SRC, before, after, cls, claimed, "half")
    assert found.best is not None
    assert found.best.said == text
    assert found.best.params == cls.from_fields({**claimed, **really})


def test_without_the_rule_it_is_not_found(monkeypatch):
    claimed = {"blockCount": 4, "blockLen": 20, "srcGap": 11}
    before, after = copied(asc.DataCopyParams(4, 20, 31))
    args = (SRC, before, after, "data_copy", claimed, "half")
    assert asc.diagnose(*args).best is not None
    rest = [rule for rule in _diagnose.RULES if rule.name != "span"]
    monkeypatch.setattr(_diagnose, "RULES", rest)
    assert asc.diagnose(*args).best is None


@pytest.mark.parametrize(("again", "left_out"), [(8, True), (64, False)])
def test_a_changed_call_that_writes_without_end_is_left_out(
    monkeypatch, again, left_out
):
    """A loop that stays where it is, 16 times as long and more."""
    info = asc.NdDmaLoopInfo((1, 0), (1, 0), (64, 64), (0, 0), (0, 0))
    before = np.full(64, 9, "uint16")
    after = np.concatenate([SRC[:63], before[:1]])
    ran, jobs = [], _diagnose._jobs

    def recorded(moves, *buffers):
        ran.extend(moves)
        return jobs(moves, *buffers)

    monkeypatch.setattr(_diagnose, "_jobs", recorded)
    monkeypatch.setattr(_diagnose, "_AGAIN", again)
    params = asc.NdDmaParams(info)
    found = asc.diagnose(SRC, before, after, "nddma", params, "half", overlap="last")
    assert found.best is not None and "loop_size[0] were 63" in found.best.said
    most = max(nest.volume for move in ran for nest in move.nests)
    assert (most <= 8 * 64 * 64) is left_out


def test_a_start_off_the_alignment_of_a_move_that_needs_its_product_is_named():
    fields = {"l1H": 4, "l1W": 4, "channelSize": 16, "kExtension": 16}
    fields |= {"mExtension": 16, "filterW": 1, "filterH": 1, "strideW": 1}
    fields |= {"strideH": 1, "dilationFilterW": 1, "dilationFilterH": 1}
    params = asc.LoadData3DParamsV2.from_fields(fields)
    before = np.zeros(512, "float16")
    site: dict[str, Any] = {"product": "atlas_a2", "path": "A1->A2"}
    image = SRC[1:257].view("float16")
    left = asc.load_data(image, params, dst=before, dtype="half", **site)
    after = np.roll(np.asarray(left), 16)  # a block on: off the 512 bytes of L0A
    found = asc.diagnose(image, before, after, "load3dv2", params, "half", **site)
    assert found.best is not None
    assert found.best.said == "dst_offset were 16 (claimed 0, elements)"
