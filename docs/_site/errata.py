"""The errata: which are of an instruction, and their page with a line for each."""

from __future__ import annotations

import re
from pathlib import Path

FILE = Path(__file__).parents[1] / "spec" / "errata.md"
_LINE = re.compile(r"^([EQH]\d+)\. (.*)$", re.M)
OF = {
    "load2d": "E4 E5 Q1 Q2 Q3 Q4 Q5 Q6 Q10 Q11",
    "load2dv2": "Q9 H1 H2",
    "load3dv2": "E5",
    "ldwt_v1": "E1 E3 E4 E8 E9 Q6 Q7 Q8 Q11 H1 H5",
    "ldwt_v2": "E2 E3 E9 Q6 Q8 Q9 Q11 H1 H5",
    "nz2nd": "E6 Q14 Q15 H7",
    "nddma": "E7 Q16 Q17",
    "nd2nz": "E10 Q12 Q13 Q18 Q19 H3 H4 H7",
    "mmad": "Q20 Q21",
}
"""The errata of each instruction, by their numbers."""
GENERAL = ("H6", "H8")
"""Those that are of layouts, and of no instruction."""
_CODE = re.compile(r"(`[^`]*`|^(?:    |\t).*$)", re.M)


def told() -> dict[str, str]:
    """Each erratum's text in Markdown by its number."""
    return {number: times(text) for number, text in _LINE.findall(FILE.read_text())}


def errata_of(instruction: str) -> list[tuple[str, str]]:
    """(number, text) of the errata of an instruction; none where nobody lists any."""
    every = told()
    return [(number, every[number]) for number in OF.get(instruction, "").split()]


def times(text: str) -> str:
    """Text whose products (a*b) Markdown leaves alone.

    >>> times("16*64*0.5 in `a*b`, *not* 2*(3)")
    '16\\\\*64\\\\*0.5 in `a*b`, *not* 2\\\\*(3)'
    """
    text = re.sub(r"^(\S.*)\n(?=    \S)", r"\1\n\n", text, flags=re.M)  # code begins
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"(?<=[\w)])\*(?=[\w(])", r"\\*", part) for part in parts[::2]]
    return "".join(parts)


def as_lists(text: str) -> str:
    """The page of the errata, with an item and an anchor for each."""

    def item(match: re.Match) -> str:
        number, said = match.groups()
        return f'- <a id="{number.lower()}"></a>**{number}.** {said}'

    text = re.sub(r"\n(?=(E1|Q1|H1)\. )", "\n\n", text)
    return times(_LINE.sub(item, text))
