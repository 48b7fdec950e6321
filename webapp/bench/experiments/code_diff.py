"""Two reward functions side by side: aligned lines, changed words marked, syntax coloured. Plain HTML, no script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES, Token

Span = tuple[int, int]
Piece = tuple[str, str]  # (Pygments' short class, text)
WORDS = re.compile(r"\w+(?:\.\w+)*|\s+|.")


@dataclass(frozen=True)
class Line:
    """One numbered line of a source, as HTML."""

    number: int
    html: SafeString


@dataclass(frozen=True)
class Row:
    """One row of the comparison. A side is None where the other has a line of its own."""

    kind: str
    """equal, changed, removed or added."""
    left: Line | None
    right: Line | None


def highlight(source: str) -> list[Line]:
    """The source as numbered, coloured lines."""
    return [Line(number, _render_pieces(pieces, [])) for number, pieces in enumerate(_split_pieces(source), 1)]


def align_lines(old: str, new: str) -> list[Row]:
    """Rows that align `old` (left) with `new` (right)."""
    before, after = old.splitlines(), new.splitlines()
    left, right = _split_pieces(old), _split_pieces(new)
    rows: list[Row] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for a, b in zip_longest(range(i, i_end), range(j, j_end)):
            marks: tuple[list[Span], list[Span]] = ([], [])
            if tag == "replace" and a is not None and b is not None:
                marks = find_changed_words(before[a], after[b])
            rows.append(
                Row(
                    kind="equal" if tag == "equal" else "added" if a is None else "removed" if b is None else "changed",
                    left=None if a is None else Line(a + 1, _render_pieces(left[a], marks[0])),
                    right=None if b is None else Line(b + 1, _render_pieces(right[b], marks[1])),
                )
            )
    return rows


def summarize_rows(rows: list[Row]) -> str:
    """How much differs, in words: "2 lines changed, 1 added"."""
    counts = {kind: sum(row.kind == kind for row in rows) for kind in ("changed", "added", "removed")}
    parts = [f"{count} {kind}" for kind, count in counts.items() if count]
    return "lines: " + ", ".join(parts) if parts else "no line differs"


def find_changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Character spans of the words that differ, in each of two lines."""
    a, b = WORDS.findall(old), WORDS.findall(new)
    spans: tuple[list[Span], list[Span]] = ([], [])
    for tag, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            for side, words, first, last in ((spans[0], a, i, i_end), (spans[1], b, j, j_end)):
                start = len("".join(words[:first]))
                end = start + len("".join(words[first:last]))
                if end > start:
                    side.append((start, end))
    return spans


def _split_pieces(source: str) -> list[list[Piece]]:
    """The source's lines, each as coloured pieces; as many as source.splitlines() has."""
    lines: list[list[Piece]] = [[]]
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(source.splitlines())):
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append((_find_css_class(kind), part))
    return lines


def _find_css_class(kind: object) -> str:
    """Pygments' class of the nearest known ancestor: Token.Name.Foo -> that of Token.Name."""
    while kind is not Token and kind not in STANDARD_TYPES:
        kind = kind.parent  # type: ignore[attr-defined]
    return STANDARD_TYPES.get(kind, "")  # type: ignore[no-any-return]


def _render_pieces(pieces: list[Piece], marks: list[Span]) -> SafeString:
    parts = []
    for css, text, marked in _cut_pieces(pieces, marks):
        html: str = escape(text)
        if css:
            html = f'<span class="c-{css}">{html}</span>'
        parts.append(f"<mark>{html}</mark>" if marked else html)
    return mark_safe("".join(parts))


def _cut_pieces(pieces: list[Piece], marks: list[Span]) -> Iterator[tuple[str, str, bool]]:
    """The pieces, cut where a mark begins or ends."""
    position = 0
    for css, text in pieces:
        edges = {position, position + len(text)}
        edges |= {edge for span in marks for edge in span if position < edge < position + len(text)}
        cuts = sorted(edges)
        for start, end in zip(cuts, cuts[1:], strict=False):
            marked = any(first <= start and end <= last for first, last in marks)
            yield css, text[start - position : end - position], marked
        position += len(text)
