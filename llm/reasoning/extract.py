"""Find the parts of a written answer, its final answer, and the program in an answer that holds one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm.extract import without_thinking

_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*(?P<hash>\S.*)|\*\*(?P<bold>[^*\n]+?):?\*\*:?)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*$")
_SAYS = re.compile(
    r"(?:final answer|the answer)(?: is|:| =)[ \t]*(?P<said>\S[^\n]*)|^\**answer\**:[ \t]*(?P<line>\S[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
LANGUAGES = {"cpp": ("cpp", "c++", "cc", "cxx"), "python": ("python", "py", "python3")}
"""How fences name a language."""
_PROGRAM = {"cpp": re.compile(r"\bmain\s*\("), "python": re.compile(r"\S")}


@dataclass(frozen=True)
class Section:
    """A part of an answer: its heading, empty for what stands before the first, and the text below."""

    title: str
    text: str


def sections(text: str) -> tuple[Section, ...]:
    """The answer in parts by its headings (`## Title`, or a bold line); headings inside fenced code are code."""
    code = _in_fences(text)
    marks = [m for m in _HEADING.finditer(text) if m.start() not in code]
    starts = [0, *(m.end() for m in marks)]
    ends = [*(m.start() for m in marks), len(text)]
    titles = ["", *((m["hash"] or m["bold"]).strip("# \t\r").strip("*").strip(": ") for m in marks)]
    parts = [Section(t, text[a:b].strip()) for t, a, b in zip(titles, starts, ends, strict=True)]
    return tuple(part for part in parts if part.title or part.text)


def _in_fences(text: str) -> set[int]:
    """Where lines of fenced code begin."""
    found, inside, place = set[int](), False, 0
    for line in text.splitlines(keepends=True):
        if inside:
            found.add(place)
        inside ^= bool(_FENCE.match(line.rstrip("\r\n")))
        place += len(line)
    return found


def final_answer(text: str, titles: Sequence[str]) -> str | None:
    r"""What the answer ends up with: the section of the first of `titles`, its last box where it has one.

    Without that section: the last \boxed{...} of the whole answer, then the last "the answer is ...". None where there
    is nothing of the kind.
    """
    answer = without_thinking(text)
    named = final_section(answer, titles)
    if named:
        return boxed(named.text) or named.text
    found = boxed(answer)
    if found:
        return found
    said = list(_SAYS.finditer(answer))
    return (said[-1]["said"] or said[-1]["line"]).strip(" *") or None if said else None


def final_section(text: str, titles: Sequence[str]) -> Section | None:
    """The last section with the first of `titles`, or simply called the final answer; None where there is none."""
    for wanted in (*titles[:1], "final answer"):
        found = [part for part in sections(text) if part.title.lower().startswith(wanted.lower()) and part.text]
        if found:
            return found[-1]
    return None


def boxed(text: str) -> str | None:
    r"""The content of the last \boxed{...} or \fbox{...}, braces balanced."""
    starts = [m.end() for m in re.finditer(r"\\(?:boxed|fbox)\s*\{", text)]
    for start in reversed(starts):
        depth = 1
        for i in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[i], 0) if text[i - 1] != "\\" else 0
            if depth == 0:
                return text[start:i].strip() or None
    return None


def program(text: str, language: str) -> str | None:
    """The last complete fenced program in this language, or of none that is named; None where there is none."""
    found: list[str] = []
    fence, said, lines = "", "", list[str]()
    for line in without_thinking(text).splitlines():
        match = _FENCE.match(line)
        if match and not fence:
            fence, said, lines = match[1], match[2].lower(), []
        elif match and match[1].startswith(fence) and not match[2]:
            if said in ("", *LANGUAGES[language]):
                found.append("\n".join(lines))
            fence = ""
        elif fence:
            lines.append(line)
    good = [code for code in found if _PROGRAM[language].search(code)]
    return good[-1].strip("\n") + "\n" if good else None
