"""Whether two final answers are the same answer: by rule. None where the rules cannot say; then a model is asked."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from llm.reasoning import formulas, units

CLOSE = 1e-9
"""Relative difference up to which values of formulas are equal, where a problem sets none."""
POINTS = 3
"""Formulas with symbols are compared at so many points: two that agree at all of them are the same for our purpose."""
WORDS = {"yes", "no", "true", "false", "even", "odd", "none", "infinite", "impossible", "converges", "diverges"}
_SPACES = re.compile(r"\\[,;:!> ]|\\q?quad\b|\\(?:displaystyle|limits|left|right|big|Big|bigl|bigr)(?![A-Za-z])|~|\\\s")
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname|rm|mbox)\s*\{([^{}]*)\}")
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_QUANTITY = re.compile(
    rf"^({_NUMBER})(?:\s*(?:\*|\\times|\\cdot)\s*10\s*\^\s*\{{?\s*([-+]?\d+)\s*\}}?|[eE]([-+]?\d+))?\s*(.*)$"
)
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")
"""Words, which would pass for products of symbols."""
_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", "π": "\\pi ", "∞": "\\infty "})


def equivalent(first: str, second: str, tolerance: float = 0.0) -> bool | None:
    """True, False, or None where no rule decides.

    Rules: equal text; numbers, formulas and quantities with units by value, within the relative `tolerance` (0: exact
    for rationals, 1e-9 otherwise); tuples part by part; lists and sets in any order; a few words. Of answers longer
    than formulas.LETTERS, only whether they are the same text.
    """
    if max(len(first), len(second)) > formulas.LETTERS:
        return True if first.strip() == second.strip() else None
    a, b = plain(first), plain(second)
    if not a or not b:
        return None
    if _squeezed(a) == _squeezed(b):
        return True
    if a.lower() in WORDS and b.lower() in WORDS:
        return False
    (kind, parts), (other, others) = _parts(a), _parts(b)
    if len(parts) == len(others) == 1 and kind == other == "":
        return _equal_values(a, b, tolerance)
    return _equal_parts((kind, parts), (other, others), tolerance)


def plain(text: str) -> str:
    """The answer without delimiters, spacing commands, fonts, a leading "x =" and a full stop at its end."""
    text = text.strip().translate(_SIGNS)
    text = re.sub(r"^\s*(?:\$\$?|\\\(|\\\[)|(?:\$\$?|\\\)|\\\])\s*\.?\s*$", "", text.strip("*` \n"))
    text = text.replace("$", "").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.replace("\\{", "\\lbrace ").replace("\\}", "\\rbrace ").replace("\\%", "%")
    text = re.sub(r"\^\s*\{?\\circ\}?|\\degree", "°", text)
    text = re.sub(r"(?<=\d)(?:\{,\}|\\,)(?=\d{3})", "", text)
    if not re.search(r"[(\[]|\\lbrace", text):  # there a comma divides
        text = re.sub(r"(?<![\d,])(\d{1,3})((?:,\d{3})+)(?![\d,])", lambda m: m[1] + m[2].replace(",", ""), text)
    text = _SPACES.sub(" ", text)
    text = _WRAPPED.sub(lambda m: f" {m[1]} ", text)
    text = re.sub(r"\\(?:cdot|times|ast)(?![A-Za-z])", "*", text)
    text = re.sub(r"\\frac\s*(\d)\s*(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)[eE](\d+)(?![\w.])", r"\1*10^{\2}", text)  # 2e-1 may be 2 e - 1
    text = re.sub(r"\s+", " ", text).strip().rstrip(".;,").strip()
    assigned = re.fullmatch(r"[A-Za-z\\][A-Za-z0-9_{}\\()]{0,24}\s*(?:=|\\approx|≈)\s*([^=]+)", text)
    return assigned[1].strip() if assigned else text.lstrip("=≈ ").strip()


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text).replace("{", "").replace("}", "").lower() if not _cased(text) else _tight(text)


def _cased(text: str) -> bool:
    """Whether it has symbols, of which upper and lower case are two."""
    return not re.fullmatch(r"[A-Za-z' -]{2,}", text)


def _tight(text: str) -> str:
    return re.sub(r"\s+", "", text)


_BRACKETS = {"(": (")", "round"), "[": ("]", "square"), "\\lbrace": ("\\rbrace", "set")}


def _parts(text: str) -> tuple[str, list[str]]:
    """What kind of collection it is (round, square, set, or "" for one thing) and its parts."""
    for opening, (closing, kind) in _BRACKETS.items():
        if text.startswith(opening) and text.endswith(closing):
            inner = text[len(opening) : -len(closing)].strip()
            split = _split(inner)
            if split and (len(split) > 1 or kind == "set"):
                return kind, split
    split = _split(re.sub(r"\s(?:and|or)\s", ", ", text))
    return ("set", split) if split and len(split) > 1 else ("", [text])


def _split(text: str) -> list[str] | None:
    """The parts between commas and semicolons outside of brackets; None where brackets do not match."""
    parts, depth, start = list[str](), 0, 0
    for place, letter in enumerate(text):
        depth += 1 if letter in "([{" else -1 if letter in ")]}" else 0
        if depth < 0:
            return None
        if letter in ",;" and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part] if depth == 0 else None


def _equal_parts(first: tuple[str, list[str]], second: tuple[str, list[str]], tolerance: float) -> bool | None:
    (kind, ours), (other, theirs) = first, second
    if kind != other and not ({kind, other} == {"round", "square"} and len(ours) > 2):  # of two: maybe intervals
        return None
    if len(ours) != len(theirs):
        return False if all(_number(p) is not None for p in (*ours, *theirs)) else None
    if kind != "set":
        said = [equivalent(a, b, tolerance) for a, b in zip(ours, theirs, strict=True)]
        return False if False in said else None if None in said else True
    table = [[equivalent(a, b, tolerance) for b in theirs] for a in ours]
    left = list(range(len(theirs)))
    for row in table:
        match = next((j for j in left if row[j]), None)
        if match is None:
            return False if all(row[j] is False for j in range(len(theirs))) else None
        left.remove(match)
    return True


def _number(text: str) -> formulas.Value | None:
    try:
        return formulas.value(text)
    except formulas.NoFormula:
        return None


def _equal_values(a: str, b: str, tolerance: float) -> bool | None:
    ours, theirs = _quantity(a), _quantity(b)
    if ours and theirs:
        return ours[1] == theirs[1] and _close(ours[0], theirs[0], tolerance)
    if ours or theirs:
        return _without_unit(a, b, tolerance)
    if _PROSE.search(a) or _PROSE.search(b):
        return None
    said = True
    for point in range(POINTS):
        try:
            said = said and _close(formulas.value(a, point), formulas.value(b, point), tolerance)
        except formulas.NoFormula:
            return None
    return said


def _measured(text: str) -> tuple[float, tuple[float, units.Dimensions]] | None:
    """A number and its unit."""
    match = _QUANTITY.match(text)
    unit = units.read(match[4]) if match and match[4] else None
    return None if match is None or unit is None else (float(f"{match[1]}e{match[2] or match[3] or 0}"), unit)


def _quantity(text: str) -> tuple[formulas.Value, units.Dimensions] | None:
    """A number with a unit: its SI value and dimensions."""
    measured = _measured(text)
    if measured is None or not math.isfinite(measured[0] * measured[1][0]):
        return None
    return measured[0] * measured[1][0], measured[1][1]


def _without_unit(a: str, b: str, tolerance: float) -> bool | None:
    """One has a unit and the other has none: the same where the numbers are, else it is not for a rule to say."""
    first, second = _bare(a), _bare(b)
    return None if first is None or second is None else _close(first, second, tolerance) or None


def _bare(text: str) -> formulas.Value | None:
    """The number, whatever its unit."""
    measured = _measured(text)
    if measured is not None:
        return measured[0] if math.isfinite(measured[0]) else None
    return _number(re.sub(r"(?<=[\d}])\s*[A-Za-zµμΩ°%][^+]*$", "", text))


def _close(a: formulas.Value, b: formulas.Value, tolerance: float) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and not tolerance:
        return a == b
    try:
        x, y = complex(a), complex(b)
        return abs(x - y) <= max(tolerance, CLOSE) * max(abs(x), abs(y))
    except OverflowError:
        return a == b
