"""Many dump cases that share their buffers, for tests of whole runs."""

import json
from pathlib import Path

import numpy as np

SITE = {"instruction": "load2d", "product": "atlas_a2", "path": "A1->A2"}


def dumps(folder: Path, count: int, wrong: tuple[int, ...] = ()) -> Path:
    """A .jsonl file of `count` dumps of one fractal each, those in `wrong` with one
    element changed."""
    src = np.arange(1024, dtype="uint16")
    after = src[256:512].copy()
    np.savez(folder / "right.npz", src=src, dst_after=after)
    after[3] ^= 1
    np.savez(folder / "wrong.npz", src=src, dst_after=after)
    case = {**SITE, "dtype": "half", "fields": {"startIndex": 1, "repeatTimes": 1}}
    file = folder / "dumps.jsonl"
    with file.open("w") as out:
        for k in range(count):
            name = "wrong.npz" if k in wrong else "right.npz"
            out.write(json.dumps({**case, "id": f"row {k}", "dump": name}) + "\n")
    return file
