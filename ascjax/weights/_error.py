"""The error of weight files."""

from __future__ import annotations

from .._errors import AscendError


class WeightsError(AscendError):
    """A weight file that cannot be read or written, or that does not fit.

    `who` is the file, `field` the tensor, or the part of the file, at fault.

    >>> import ascjax as asc
    >>> asc.weights.inspect("no.safetensors")
    Traceback (most recent call last):
    ...
    ascjax.weights._error.WeightsError: no.safetensors: the file must exist, ...
    """
