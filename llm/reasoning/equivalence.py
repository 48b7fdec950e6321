"""Whether two final answers are the same answer: by rule. None where the rules cannot say; then a model is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from llm.reasoning import formulas, units

CLOSE = 1e-9
"""Relative difference up to which values of formulas are equal, where a problem sets none."""
POINTS = 3
"""At how many points formulas with symbols are compared: two that agree at all of them count as the same."""
PARTS = 100
"""Longer lists are not compared, because every part of one set is compared with every part of the other."""
DEPTH = 20
"""Brackets within brackets, at most."""
TINY = 1e-12
"""Values of formulas below this may be zero but for rounding."""
_OPPOSITES = {"yes": "no", "true": "false", "even": "odd", "converges": "diverges"}
_WORDS = {*_OPPOSITES, *_OPPOSITES.values(), "none", "infinite", "impossible"}
_SPACES = re.compile(r"\\[,;:!> ]|\\q?quad\b|\\(?:displaystyle|limits|left|right|big|Big|bigl|bigr)(?![A-Za-z])|~|\\\s")
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname|rm|mbox)\s*\{([^{}]*)\}")
_GROUPS = re.compile(r"(?<![\d,.])([1-9]\d{0,2})((?:(?:\{,\}|\\,)\d{3})+)(?!\d|\{,\}|\\,\d)")
_COMMAS = re.compile(r"(?<![\d,.])([1-9]\d{0,2})((?:,\d{3})+)(?!\d|,\d)")
"""Thousands in TeX and in plain text."""
_ITEMS = re.compile(r"^[ \t]*[-+*][ \t]", re.MULTILINE)
"""A list in Markdown, whose dashes would pass for signs."""
_NAME = re.compile(r"([A-Za-z\\][A-Za-z0-9_{}\\()]{0,24})\s*(?:=|\\approx|≈)\s*([^=]+)")
_LINK = re.compile(r"(?<![\\A-Za-z])(?:and|or)(?![A-Za-z])")
_RELATION = re.compile(r"[<>≤≥≠∈]|\\(?:[lg]eq?|[lg]t|neq?|in|equiv)(?![A-Za-z])")
_CHOICE = re.compile(r"\(?[A-H]\)?")
"""Maybe the letter of a choice, whose meaning only the problem tells."""
_LETTER = re.compile(r"\(?[A-Za-z]\)?")
_NUMBER_AND_LETTERS = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*[A-Za-z]{2,}[^A-Za-z]*(?:/[^A-Za-z]*[A-Za-z]+[^A-Za-z]*)?")
"""A number with maybe a unit that is not known, as in 25 ft, maybe two symbols."""
_CONSTANT = re.compile(r"C(?:_\w)?")
"""A possible constant of integration, which any other may replace."""
_LOG = re.compile(r"\\l(?:og|g)(?![A-Za-z])")
"""Logarithms whose base (e, 10 or 2) is unknown."""
_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/", "π": "\\pi ", "∞": "\\infty "})

_FUNCTIONS = r"(?:arc(?:sin|cos|tan)|(?:sin|cos|tan)h?|exp|ln|log|lg)"
_GREEK = (
    "(?:alpha|beta|gamma|delta|(?:var)?(?:epsilon|theta|rho|phi)|zeta|eta|iota|kappa|lambda|mu|nu|xi|pi|sigma|tau|upsilon|"
    "chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|hbar|ell)"
)
_COMMAND = re.compile(rf"\\(?!(?:{_FUNCTIONS}|frac|sqrt|binom|{_GREEK})(?![A-Za-z]))")
"""One that the grammar of formulas would take for a symbol, such as that of a floor or of an angle."""
_FUNCTION = rf"\\{_FUNCTIONS}(?![A-Za-z])"
_SYMBOL = rf"(?:\\{_GREEK}(?![A-Za-z])|[A-Za-zΑ-ω])(?:_\{{[^{{}}]*\}}|_[A-Za-z0-9])?"
_EXPONENT = r"\s*\^\s*(?:\{[^{}]*\}|\d+|[A-Za-z])"
_FACTOR = rf"(?>\d+(?:\.\d+)?|{_SYMBOL})(?>{_EXPONENT})?"
_DOUBLE = re.compile(
    rf"({_FUNCTION}(?>{_EXPONENT})?)\s*(\d+(?:\.\d+)?\s*{_SYMBOL}(?>{_EXPONENT})?)(?=\s*(?:$|[-+*)}}\],;=]|{_FUNCTION}))"
)
"""A function of a multiple, as in sin 2x."""
_AMBIGUOUS = re.compile(
    "|".join(
        (
            r"\d\s+\.?\d|\.\d+\s*\.",  # 2 1/2; 1.2.3
            r"\d\s*\\frac\s*\{\s*\d+\s*\}\s*\{\s*\d+\s*\}",  # two and a half, or one
            r"(?<![\d.])0\d",  # a group of digits, a code
            r"\d[eE][-+]\d",  # 2e-1
            r"(?<![\\A-Za-z])[A-Za-z]+\s*\d++(?!\s*\^\s*[{(]?\s*-?[A-Za-z])|_\d\d",  # x1, x_12, but not n2^n
            r"[-+]\s*[-+]|!\s*!",
            r"\^\s*(?:\{[^{}]*\}|\d+|[A-Za-z])\s*\^",  # 2^3^2
            r"(?:(?<![_\\A-Za-z\d])\d+|(?<![_\\A-Za-z])e)\^-?(?:\d+|[A-Za-z])[A-Za-z]",  # e^kt, 2^2n
            rf"/\s*{_FACTOR}\s*[\dA-Za-z(\{{\\]",  # a/bc
            rf"{_FUNCTION}\s*\^\s*(?:\{{\s*-\s*1\s*\}}|-\s*1)",  # the inverse, or one over it
            rf"{_FUNCTION}\s*(?:\([^()]*\)|\{{[^{{}}]*\}})\s*\^",  # sin(x)^2
            rf"{_FUNCTION}(?>{_EXPONENT})?\s*{_FACTOR}\s*(?:[\dA-Za-z(\{{/]|(?!{_FUNCTION})\\)",  # sin x y
            r"(?<![\\A-Za-z])[A-Za-z]+\s*\(\s*\w+\s*\)|(?<![\\A-Za-z])[fO]\s*\(|\\(?:Theta|Omega)\s*\(",  # f(x)
            r"\\frac\s*\{\s*d(?![_\d])[^{}]*\}\s*\{\s*d\s*[A-Za-z\\]",  # dy/dx
        )
    )
)
"""Notations that the grammar reads in one way and a writer may mean in another."""
_PROSE = re.compile(
    r"(?<![\\A-Za-z])(?:[A-Za-z]{4,}|mod|gcd|lcm|max|min|lim|sup|inf|var|det|deg|arg|sec|csc|cot|abs|sgn|"
    r"one|two|six|ten|all|any|the|not|and|no|or|of|is|if|to|per|for|vs)(?![A-Za-z])",
    re.IGNORECASE,
)
"""Words, which would pass for products of symbols."""


def compare_answers(first: str, second: str, tolerance: float = 0.0) -> bool | None:
    """True, False, or None where no rule decides.

    Rules: equal text; numbers, formulas and quantities with units by value, within the relative `tolerance` (0: exact
    for rationals, 1e-9 otherwise); tuples part by part; lists and sets in any order; a few words. Of answers longer
    than formulas.LETTERS, only whether they are the same text.
    """
    (name, a), (other, b) = _split_name(simplify_answer(first)), _split_name(simplify_answer(second))
    if not a or not b:
        return None
    if first.strip() == second.strip():
        return True
    if max(len(first), len(second)) > formulas.LETTERS or any(map(_ITEMS.search, (first, second))):
        return None
    if name and other and name != other:
        return None
    if _is_same_text(a, b):
        return True
    if a.lower() in _WORDS or b.lower() in _WORDS:
        return False if _is_opposite(a.lower(), b.lower()) else None
    if _has_other_links(a, b) or _may_be_choices(a, b):
        return None
    (kind, parts), (other_kind, others) = _split_parts(a), _split_parts(b)
    if len(parts) == len(others) == 1 and kind == other_kind == "":
        return _compare_values(a, b, tolerance)
    return _compare_parts((kind, parts), (other_kind, others), tolerance)


def simplify_answer(text: str) -> str:
    """The answer without delimiters, spacing commands, fonts and a full stop at its end; functions as commands."""
    text = text.strip().translate(_SIGNS)
    text = re.sub(r"^\s*(?:\$\$?|\\\(|\\\[)|(?:\$\$?|\\\)|\\\])\s*\.?\s*$", "", text.strip("*` \n"))
    text = text.replace("$", "").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.replace("\\{", "\\lbrace ").replace("\\}", "\\rbrace ").replace("\\%", "%")
    text = re.sub(r"\^\s*\{?\\circ\}?|\\degree", "°", text)
    text = _GROUPS.sub(_join_digits, text)
    if not re.search(r"[(\[]|\\lbrace", text):  # there a comma divides
        text = _COMMAS.sub(_join_digits, text)
    text = _SPACES.sub(" ", text)
    text = _WRAPPED.sub(lambda m: f" {m[1]} ", text)
    text = re.sub(r"\\(?:cdot|times|ast)(?![A-Za-z])", "*", text)
    text = re.sub(r"(?<=\d)\s*[xX]\s*(?=10\s*\^)", "*", text)
    text = re.sub(r"\\frac\s*(\d)\s*(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)[eE](\d+)(?![\w.])", r"\1*10^{\2}", text)  # 2e-1 may be 2 e - 1
    text = re.sub(rf"(?<![\\A-Za-z])({_FUNCTIONS}|sqrt)(?![A-Za-z])", r"\\\1", text)
    text = re.sub(r"°\s*(?=[CF](?![A-Za-z]))", "°", text)
    text = re.sub(r"\s+(?=\^)", "", re.sub(r"\s+", " ", text)).strip().rstrip(".;,").strip()
    return _DOUBLE.sub(r"\1(\2)", text).lstrip("=≈ ").strip()


def _join_digits(digits: re.Match[str]) -> str:
    return digits[1] + re.sub(r"\D", "", digits[2])


def _split_name(text: str) -> tuple[str, str]:
    """The name before an equals sign, or none, and what it stands for."""
    match = _NAME.fullmatch(text)
    return (re.sub(r"[{}\s]", "", match[1]), match[2].strip()) if match else ("", text)


def _is_same_text(a: str, b: str) -> bool:
    """Whether they are, but for spaces that say nothing; words in upper or lower case."""
    return _remove_spaces(a) == _remove_spaces(b) or (
        _lower_words(a) == _lower_words(b) and re.fullmatch(r"[A-Za-z' -]+", a + b) is not None
    )


def _remove_spaces(text: str) -> str:
    """The text without spaces, except those between two digits or two letters."""
    return re.sub(r"(?<=\d) (?=[\d.])|(?<=[A-Za-z]) (?=[A-Za-z])", "_", text.replace("_", "__")).replace(" ", "")


def _lower_words(text: str) -> str:
    """With words in lower case; a few letters may be symbols, of which upper and lower case are two."""
    return re.sub(r"[A-Za-z]+", lambda m: m[0].lower() if _is_word(m[0]) else m[0], text)


def _is_word(letters: str) -> bool:
    """Not so Mgsin x."""
    return letters.lower() in _WORDS or (
        len(letters) > 3 and letters[1:].islower() and not letters.endswith(("sin", "cos", "tan", "log", "exp"))
    )


def _is_opposite(a: str, b: str) -> bool:
    return _OPPOSITES.get(a) == b or _OPPOSITES.get(b) == a


def _has_other_links(a: str, b: str) -> bool:
    """Whether one says "and" and the other "or", or a comma, which between conditions may be either."""
    ours, theirs = set(_LINK.findall(a)), set(_LINK.findall(b))
    return ours != theirs and bool((ours and theirs) or _RELATION.search(a + b))


def _may_be_choices(a: str, b: str) -> bool:
    """Whether one may be a choice and the other what it stands for, or both the same letters in another order."""
    if re.match(r"\([A-H]\)\s*\S", a) or re.match(r"\([A-H]\)\s*\S", b):
        return True
    letters = re.fullmatch("[A-Z]{2,}", a) and sorted(a) == sorted(b)
    return bool(letters) or bool(_CHOICE.fullmatch(a)) != bool(_CHOICE.fullmatch(b))


_BRACKETS = {"(": (")", "round"), "[": ("]", "square"), "\\lbrace": ("\\rbrace", "set")}


def _split_parts(text: str) -> tuple[str, list[str]]:
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
    """The parts between commas and semicolons outside of brackets; None where those do not match, or are too many."""
    parts, depth, start = list[str](), 0, 0
    for place, letter in enumerate(text):
        depth += 1 if letter in "([{" else -1 if letter in ")]}" else 0
        if not 0 <= depth <= DEPTH:
            return None
        if letter in ",;" and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part] if depth == 0 else None


def _compare_parts(first: tuple[str, list[str]], second: tuple[str, list[str]], tolerance: float) -> bool | None:
    (kind, ours), (other, theirs) = first, second
    names = {_split_name(part)[0] for part in (*ours, *theirs)} - {""}
    if len(names) > 1:
        return _compare_by_name(ours, theirs, tolerance)
    if kind != other and not ({kind, other} == {"round", "square"} and len(ours) > 2):  # of two: maybe intervals
        return None
    if max(len(ours), len(theirs)) > PARTS:
        return None
    if kind == "set":
        return _compare_sets(ours, theirs, tolerance)
    if len(ours) != len(theirs):
        return _compare_lengths(ours, theirs)
    return _combine_verdicts(compare_answers(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))


def _compare_by_name(ours: list[str], theirs: list[str], tolerance: float) -> bool | None:
    """Parts with several names, in any order; None where one has no name, or not the same ones."""
    mine, yours = dict(map(_split_name, ours)), dict(map(_split_name, theirs))
    whole = len(mine) == len(ours) and len(yours) == len(theirs)
    if not whole or "" in mine or mine.keys() != yours.keys():
        return None
    return _combine_verdicts(compare_answers(mine[name], yours[name], tolerance) for name in mine)


def _compare_sets(ours: list[str], theirs: list[str], tolerance: float) -> bool | None:
    """Each part among the other's; None where only how often they are there differs."""
    table = [[compare_answers(a, b, tolerance) for b in theirs] for a in ours]
    lines = [*table, *(list(column) for column in zip(*table, strict=True))]
    if not all(True in line for line in lines):
        alien = any(all(said is False for said in line) for line in lines)
        return (False if len(ours) == len(theirs) else _compare_lengths(ours, theirs)) if alien else None
    left = list(range(len(theirs)))
    for row in table:
        match = next((j for j in left if row[j]), None)
        if match is None:
            return None
        left.remove(match)
    return None if left else True


def _compare_lengths(ours: list[str], theirs: list[str]) -> bool | None:
    """Not the same, unless parts cannot be read, or may be digits of one number: 1,234."""
    parts = (*ours, *theirs)
    grouped = any(re.fullmatch(r"\d{3}", part) for part in parts)
    return None if grouped or any(_read_number(part) is None for part in parts) else False


def _combine_verdicts(said: Iterable[bool | None]) -> bool | None:
    said = list(said)
    return False if False in said else None if None in said else True


def _read_number(text: str) -> formulas.Value | None:
    try:
        return _read_value(text)
    except formulas.NoFormula:
        return None


def _read_value(text: str, point: int = 0) -> formulas.Value:
    """As `formulas.compute_value` has it; raises NoFormula also where it may not be what was meant."""
    if _PROSE.search(text) or _COMMAND.search(text) or _AMBIGUOUS.search(text):
        raise formulas.NoFormula
    return formulas.compute_value(text, point)


def _list_symbols(text: str) -> set[str]:
    found = re.findall(_SYMBOL, re.sub(rf"{_FUNCTION}|\\(?:frac|sqrt|binom)", " ", text))
    return {re.sub(r"[{} ]", "", symbol) for symbol in found} - {"\\pi", "e", "i"}


def _compare_values(a: str, b: str, tolerance: float) -> bool | None:
    """Quantities, or formulas. Where letters may be units and may be symbols, the same only: else None."""
    ours, theirs = _read_quantity(a), _read_quantity(b)
    said = _compare_formulas(a, b, tolerance)
    if ours and theirs:
        if ours.dimensions == theirs.dimensions and _close(ours.si, theirs.si, tolerance):
            return True
        return None if said else False
    if ours or theirs:
        quantity, text = (ours, b) if ours else (theirs, a)
        said = said and not _may_be_measured(text)
        return said or (quantity is not None and _fits_without_unit(quantity, text, tolerance)) or None
    return said


def _may_be_measured(text: str) -> bool:
    return _NUMBER_AND_LETTERS.fullmatch(re.sub(r"\\[A-Za-z]+", "1", text)) is not None


def _compare_formulas(a: str, b: str, tolerance: float) -> bool | None:
    if bool(_LOG.search(a)) != bool(_LOG.search(b)):
        return None
    try:
        values = [(_read_value(a, point), _read_value(b, point)) for point in range(POINTS)]
    except formulas.NoFormula:
        return None
    if all(_close(x, y, tolerance) for x, y in values):
        return True
    ours, theirs = _list_symbols(a), _list_symbols(b)
    if ours - theirs and theirs - ours:  # maybe the same under other names
        letters = _LETTER.fullmatch(a) and _LETTER.fullmatch(b) and a.lower() != b.lower()
        return False if letters else None
    if (_may_be_measured(a) and not theirs) or (_may_be_measured(b) and not ours):
        return None
    if any(map(_CONSTANT.fullmatch, ours & theirs)):
        return None
    return None if any(_is_unsure(x, y) for x, y in values) else False


def _is_unsure(a: formulas.Value, b: formulas.Value) -> bool:
    """Whether all that parts them may be rounding near zero, or which root of a negative number was taken."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return False
    try:
        x, y = complex(a), complex(b)
        return (x.imag == 0) != (y.imag == 0) or abs(x - y) < TINY
    except OverflowError:
        return False


@dataclass(frozen=True)
class _Quantity:
    """A number with a unit: its value in SI units, its dimensions, and whether its unit is one of the SI's own."""

    si: float
    dimensions: units.Dimensions
    coherent: bool


def _read_quantity(text: str) -> _Quantity | None:
    """A number without symbols, and a unit behind it; None where the text is something else."""
    text = re.sub(r"(?<=\d)[eE]([-+]?\d+)(?=\s*[A-Za-zµμΩ°%])", r"*10^{\1}", text)
    text = re.sub(r"\\mu(?![A-Za-z])\s*", "µ", text).replace("\\Omega", "Ω")
    start = re.search(r"(?<![\\A-Za-z])[A-Za-zµμΩ°%]", text)
    unit = units.read(text[start.start() :]) if start else None
    number = _read_number(text[: start.start()]) if start and unit else None
    if unit is None or number is None:
        return None
    factor, dimensions = unit
    try:
        si = complex(number * (1 if factor == 1 else factor))
    except OverflowError:
        return None
    whole = math.isfinite(si.real) and not si.imag
    return _Quantity(si.real, dimensions, math.isclose(factor, 1)) if whole else None


def _fits_without_unit(quantity: _Quantity, text: str, tolerance: float) -> bool:
    """Whether a number without a unit is the same one: in an SI unit that was left out, or as with 50% and 1/2."""
    number = None if _list_symbols(text) else _read_number(text)
    fits = quantity.coherent or not any(quantity.dimensions)
    return number is not None and fits and _close(quantity.si, number, tolerance)


def _close(a: formulas.Value, b: formulas.Value, tolerance: float) -> bool:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and not tolerance:
        return a == b
    try:
        x, y = complex(a), complex(b)
        return abs(x - y) <= max(tolerance, CLOSE) * max(abs(x), abs(y))
    except OverflowError:
        return a == b
