"""Languages made from English, for tests: accented and 40% longer, read from the left (en-xa) or the right (ar-xb)."""

from __future__ import annotations

import math
import re
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo

from webapp.management import catalogs

ACCENTED = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "ÁƁČĎÉƑĜĤÍĴĶĹṀŃÓṔɊŔŚŤÚṼŴẊÝŽáƀčďéƒĝĥíĵķĺṁńóṕɋŕśťúṽŵẋýž"
)
LANGUAGES = [("en", "English"), ("en-xa", "Ḗƞɠŀīşħ"), ("ar-xb", "Ħşīŀɠƞḗ")]
LOCALES = {"en_XA": "en", "ar_XB": "en"}


def disguise(text: str) -> str:
    """The text with other letters, each word 40% longer; placeholders, tags and formulas stay."""
    parts = re.split(r"(%\(\w+\)s|<[^>]*>|\$+[^$]+\$+)", text)
    return "".join(part if number % 2 else re.sub(r"[A-Za-z]+", _stretch, part) for number, part in enumerate(parts))


def _stretch(word: re.Match[str]) -> str:
    return word[0].translate(ACCENTED) + "ȯ" * math.ceil(0.4 * len(word[0]))


def write(folder: Path) -> None:
    for locale, plural in LOCALES.items():
        for domain in catalogs.DOMAINS:
            made = Catalog(locale=plural, charset="utf-8", fuzzy=False)
            for message in catalogs.extract(domain):
                if message.id and message.context != "date format":
                    texts = message.id if isinstance(message.id, tuple) else (message.id,)
                    said = tuple(map(disguise, texts))
                    made.add(message.id, said if len(said) > 1 else said[0], context=message.context)
            place = folder / locale / "LC_MESSAGES"
            place.mkdir(parents=True, exist_ok=True)
            with (place / f"{domain}.mo").open("wb") as file:
                write_mo(file, made)
