"""Physical units as a factor and powers of the SI base units, as far as answers to problems use them."""

from __future__ import annotations

import math
import re

Dimensions = tuple[int, ...]
"""Powers of m, kg, s, A, K, mol, cd."""
_NONE: Dimensions = (0,) * 7
_TIMES_TEN = {
    **{"P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "u": -6, "µ": -6, "μ": -6},
    **{"n": -9, "p": -12, "f": -15},
}
_UNITS: dict[str, tuple[float, Dimensions]] = {
    "m": (1, (1, 0, 0, 0, 0, 0, 0)),
    "g": (1e-3, (0, 1, 0, 0, 0, 0, 0)),
    "s": (1, (0, 0, 1, 0, 0, 0, 0)),
    "A": (1, (0, 0, 0, 1, 0, 0, 0)),
    "K": (1, (0, 0, 0, 0, 1, 0, 0)),
    "mol": (1, (0, 0, 0, 0, 0, 1, 0)),
    "cd": (1, (0, 0, 0, 0, 0, 0, 1)),
    "Hz": (1, (0, 0, -1, 0, 0, 0, 0)),
    "N": (1, (1, 1, -2, 0, 0, 0, 0)),
    "Pa": (1, (-1, 1, -2, 0, 0, 0, 0)),
    "J": (1, (2, 1, -2, 0, 0, 0, 0)),
    "W": (1, (2, 1, -3, 0, 0, 0, 0)),
    "C": (1, (0, 0, 1, 1, 0, 0, 0)),
    "V": (1, (2, 1, -3, -1, 0, 0, 0)),
    "Ω": (1, (2, 1, -3, -2, 0, 0, 0)),
    "ohm": (1, (2, 1, -3, -2, 0, 0, 0)),
    "F": (1, (-2, -1, 4, 2, 0, 0, 0)),
    "T": (1, (0, 1, -2, -1, 0, 0, 0)),
    "Wb": (1, (2, 1, -2, -1, 0, 0, 0)),
    "H": (1, (2, 1, -2, -2, 0, 0, 0)),
    "eV": (1.602176634e-19, (2, 1, -2, 0, 0, 0, 0)),
    "L": (1e-3, (3, 0, 0, 0, 0, 0, 0)),
    "bar": (1e5, (-1, 1, -2, 0, 0, 0, 0)),
    "rad": (1, _NONE),
}
_PLAIN: dict[str, tuple[float, Dimensions]] = {
    "min": (60, _UNITS["s"][1]),
    "h": (3600, _UNITS["s"][1]),
    "atm": (101325, _UNITS["Pa"][1]),
    "°": (math.pi / 180, _NONE),
    "%": (0.01, _NONE),
}
"""Units that take no prefix."""
_PART = re.compile(r"([A-Za-zµμΩ°%]+)(?:\^?\{?(-?\d)\}?)?")


def read(text: str) -> tuple[float, Dimensions] | None:
    """The factor to SI and the dimensions of a unit such as "m/s^2" or "kg m^{-1} s^{-2}"; None where it is none."""
    factor, dimensions = 1.0, list(_NONE)
    rest, below = text.strip(), False
    while rest:
        match = _PART.match(rest)
        known = _find_unit(match[1]) if match else None
        if match is None or known is None:
            return None
        power = int(match[2] or 1) * (-1 if below else 1)
        factor *= known[0] ** power
        dimensions = [d + power * k for d, k in zip(dimensions, known[1], strict=True)]
        rest = rest[match.end() :].lstrip()
        below = rest.startswith("/") or (below and not rest.startswith(("*", "·")))
        rest = rest.lstrip("/*· ")
    return factor, tuple(dimensions)


def _find_unit(name: str) -> tuple[float, Dimensions] | None:
    if name in _PLAIN or name in _UNITS:
        return _PLAIN.get(name) or _UNITS[name]
    base = _UNITS.get(name[1:])
    if base and name[0] in _TIMES_TEN:
        return base[0] * 10.0 ** _TIMES_TEN[name[0]], base[1]
    return None
