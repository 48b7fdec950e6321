r"""Values of formulas in TeX or plain notation. Nothing is executed: a small grammar, evaluated at numbers for symbols.

sum     = product {("+" | "-") product}
product = {"-" | "+"} power {["*" | "/"] power}
power   = atom {"!" | "^" argument}
atom    = number | "(" sum ")" | "{" sum "}" | \frac | \sqrt | \binom | function argument | constant | symbol
"""

from __future__ import annotations

import cmath
import hashlib
import math
import re
from fractions import Fraction
from typing import NoReturn

Value = Fraction | float | complex
LETTERS, DEPTH, BITS = 2000, 60, 20_000
"""Limits of a formula's letters, of its nesting, and of an exact number's bits."""
_TOKEN = re.compile(r"\s*(\\[A-Za-z]+|\d+(?:\.\d+)?|\.\d+|[A-Za-zΑ-ω](?:_\{[^{}]*\}|_[A-Za-z0-9])?|[-+*/^!(){}\[\]|])")
_FUNCTIONS = {
    **{"sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp, "ln": cmath.log, "log": cmath.log},
    **{"arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh},
    **{"tanh": cmath.tanh, "lg": cmath.log10},
}

_NO_SYMBOLS = re.compile(r"\\(infty|pm|mp|cup|cap|in|to|l?dots|cdots|[lg]eq?|neq?|mid|p?mod|lbrace|rbrace)")


class NoFormula(Exception):
    """The text is no formula, or a too large one."""


def compute_value(text: str, point: int = 0) -> Value:
    """The formula's value, each symbol at a number that follows from its name and `point`. Raises NoFormula.

    Exact, as a Fraction, where it is rational and has no symbols.
    """
    if len(text) > LETTERS:
        raise NoFormula
    reader = _Reader(_split_tokens(text), point)
    try:
        found = reader.sum()
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise NoFormula from error
    if reader.place < len(reader.tokens):
        raise NoFormula
    return found


def _split_tokens(text: str) -> list[str]:
    found, place = [], 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if not match:
            raise NoFormula
        found.append(match[1])
        place = match.end()
    if not found:
        raise NoFormula
    return found


class _Reader:
    """Recursive descent over the tokens, evaluating as it goes."""

    def __init__(self, tokens: list[str], point: int) -> None:
        self.tokens, self.point, self.place, self.depth = tokens, point, 0, 0

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def consume(self, wanted: str = "") -> str:
        found = self.next
        if not found or (wanted and found != wanted):
            raise NoFormula
        self.place += 1
        return found

    def sum(self) -> Value:
        self.depth += 1
        if self.depth > DEPTH:
            raise NoFormula
        total = self.product()
        while self.next in ("+", "-"):
            total = _limit_size(total + self.product() if self.consume() == "+" else total - self.product())
        self.depth -= 1
        return total

    def product(self) -> Value:
        sign = 1
        while self.next in ("+", "-"):
            sign = -sign if self.consume() == "-" else sign
        result = self.power()
        while self.next and self.next not in ("+", "-", ")", "}", "]", "|"):
            if self.next == "/":
                self.consume()
                result = _divide(result, self.read_signed())
            else:
                if self.next == "*":
                    self.consume()
                result = result * self.read_signed()
        return _limit_size(sign * result)

    def read_signed(self) -> Value:
        sign = 1
        while self.next in ("+", "-"):
            sign = -sign if self.consume() == "-" else sign
        return sign * self.power()

    def power(self) -> Value:
        base = self.atom()
        while self.next in ("^", "!"):
            base = _factorial(base) if self.consume() == "!" else _power(base, self.argument())
        return base

    def argument(self) -> Value:
        """A group in braces, or the next thing alone: 2^10 written without braces is meant as a whole."""
        return -self.power() if self.next == "-" and self.consume() else self.atom()

    def atom(self) -> Value:
        token = self.consume()
        if token in ("(", "{", "["):
            inner = self.sum()
            self.consume({"(": ")", "{": "}", "[": "]"}[token])
            return inner
        if token[0].isdigit() or token[0] == ".":
            return Fraction(token)
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isalpha():
            return _get_symbol(token, self.point)
        raise NoFormula

    def command(self, name: str) -> Value:
        if name == "frac":
            return _divide(self.atom(), self.atom())
        if name == "sqrt":
            root = self.atom() if self.next == "[" else Fraction(2)
            return _power(self.atom(), _divide(Fraction(1), root))
        if name == "binom":
            above, below = self.atom(), self.atom()
            return _divide(_factorial(above), _factorial(below) * _factorial(above - below))
        if name in _FUNCTIONS:
            exponent = self.argument() if self.next == "^" and self.consume() else Fraction(1)
            return _power(_FUNCTIONS[name](complex(self.power())), exponent)
        return _get_symbol("\\" + name, self.point)


def _get_symbol(name: str, point: int) -> Value:
    """A constant, or a number between 0.3 and 2.3 that stands for the symbol."""
    if name in ("\\pi", "π"):
        return math.pi
    if name == "e":
        return math.e
    if name == "i":
        return 1j
    if _NO_SYMBOLS.fullmatch(name):
        raise NoFormula
    plain = name.replace("{", "").replace("}", "").replace(" ", "")
    digest = hashlib.sha256(f"{plain} {point}".encode()).digest()
    return 0.3 + 2.0 * int.from_bytes(digest[:6], "big") / 2**48


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            size = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(exponent.numerator)
            return base**exponent.numerator if size <= BITS else _refuse_size()
        root = _find_exact_root(base, exponent)
        if root is not None:
            return root
    return _limit_size(complex(base) ** complex(exponent))


def _find_exact_root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """sqrt(9/4) as 3/2; None where it is irrational, or no square root."""
    if exponent != Fraction(1, 2) or base < 0:
        return None
    root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
    return root if root * root == base else None


def _divide(above: Value, below: Value) -> Value:
    return above / below


def _factorial(of: Value) -> Value:
    if isinstance(of, Fraction) and of.denominator == 1 and 0 <= of <= 1000:
        return Fraction(math.factorial(int(of)))
    number = complex(of)
    return math.gamma(number.real + 1) if number.imag == 0 else _refuse_size()


def _limit_size(number: Value) -> Value:
    if isinstance(number, Fraction):
        size = max(number.numerator.bit_length(), number.denominator.bit_length())
        return number if size <= BITS else _refuse_size()
    return number if cmath.isfinite(number) else _refuse_size()


def _refuse_size() -> NoReturn:
    raise NoFormula
