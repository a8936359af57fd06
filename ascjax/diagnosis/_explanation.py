"""What a diagnosis says: explanations of a dump, ranked."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._move import Move
from ..instr import Params


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What may have run, and how well it explains the dump.

    Attributes:
      rule: the rule's name; "damage" where no call explains it.
      said: what differs from the claimed call.
      params: the params that would do it, or None.
      mismatches, elements: how many elements of the destination it does not explain, of
        how many.
      move: what would do it, all calls of it; None where no call explains it.

    >>> one = Explanation("field", "dst_gap were 1 (claimed 0)", None, 0, 256)
    >>> one.exact, str(one)
    (True, 'matches exactly if dst_gap were 1 (claimed 0)')
    """

    rule: str
    said: str
    params: Params | None
    mismatches: int
    elements: int
    move: Move | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def exact(self) -> bool:
        """Whether it explains every bit."""
        return self.mismatches == 0

    def __str__(self) -> str:
        if self.exact:
            return f"matches exactly if {self.said}"
        if self.params is None:
            return f"no call near it explains every bit; it may be that {self.said}"
        wrong = f"{self.mismatches} of {self.elements} elements"
        return f"{wrong} would still differ if {self.said}"


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Explanations of a dump, the best first.

    Attributes:
      claims: the claimed params, one for each call.
      mismatches, elements: how many elements differ from what the claimed call leaves,
        of how many.
      explanations: what may have run instead, at most ten; none where the claimed call
        explains every bit.
      tried: how many candidates ran.

    >>> import ascjax as asc, numpy as np
    >>> src = np.arange(1024, dtype="uint16")
    >>> after = np.concatenate([src[:256], np.zeros(256, "uint16"), src[512:768]])
    >>> fields = {"repeatTimes": 2, "srcStride": 2}
    >>> print(asc.diagnose(src, np.zeros_like(after), after, "load2d", fields, "half"))
    load2d: 512 of 768 elements differ from what the claimed call leaves.
    1. matches exactly if dst_gap were 1 (claimed 0)
    ...
    """

    claims: tuple[Params, ...]
    mismatches: int
    elements: int
    explanations: tuple[Explanation, ...]
    tried: int

    @property
    def matches(self) -> bool:
        """Whether the claimed call explains the dump, bit for bit."""
        return self.mismatches == 0

    @property
    def best(self) -> Explanation | None:
        """The first explanation, where it is exact."""
        first = next(iter(self.explanations), None)
        return first if first is not None and first.exact else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "claims": [claim.to_dict() for claim in self.claims],
            "matches": self.matches,
            "mismatches": self.mismatches,
            "elements": self.elements,
            "tried": self.tried,
            "explanations": [
                {
                    "rule": one.rule,
                    "said": one.said,
                    "params": one.params and one.params.to_dict(),
                    "mismatches": one.mismatches,
                    "exact": one.exact,
                }
                for one in self.explanations
            ],
        }

    def __str__(self) -> str:
        who = ", ".join(dict.fromkeys(claim.instruction for claim in self.claims))
        if self.matches:
            return f"{who}: the claimed call explains all {self.elements} elements."
        lines = [
            f"{who}: {self.mismatches} of {self.elements} elements differ from what "
            "the claimed call leaves."
        ]
        lines += [f"{k}. {one}" for k, one in enumerate(self.explanations, 1)]
        exact = sum(one.exact for one in self.explanations)
        if exact > 1:
            lines.append(
                f"The first {exact} match this dump equally: a source whose elements "
                "are all different may tell them apart."
            )
        if not exact:
            lines.append(f"None of {self.tried} changed calls explains every bit.")
        return "\n".join(lines)
