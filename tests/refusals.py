"""What the tests of errors share: calls to refuse, and the check of a refusal."""

import re

import jax.numpy as jnp
import pytest

import ascjax as asc

HALF = jnp.zeros(256, "float16")
ONE = asc.LoadData2DParams(0, 1)


def check_refused(kind, text, run, *args, **options):
    """`run` raises just `kind`, its text starting with `text`, and says what to do."""
    with pytest.raises(asc.AscendError, match=re.escape(text)) as caught:
        run(*args, **options)
    error = caught.value
    assert type(error) is kind
    assert str(error).startswith(text)
    assert text.startswith(f"{error.who}: {error.field} must ")
    assert error.fix.endswith(".") and error.fix in str(error)
    return error


def move(params, dtype="half", src_size=1 << 16, **site):
    return asc.Move.of(params, dtype=dtype, src_size=src_size, **site)


def info(*dims, lp=None, rp=None):
    """From (loop_size, loop_src_stride, loop_dst_stride) rows, index 0 first."""
    size, src, dst = zip(*dims, strict=True)
    return asc.NdDmaLoopInfo(src, dst, size, lp, rp)
