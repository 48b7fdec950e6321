"""Find the parts of a written answer, its final answer, and the program in an answer that holds one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llm.extract import strip_thinking

TITLES = ("key final answer", "all final answers", "final answer", "reasoning", "explanation", "justification", "proof")
"""Beginnings of known titles: a bold line is a heading only with one of them."""
MOST_LETTERS = 200_000
"""Only this much of an answer is read: the longest that a person reads has a tenth of it."""
# Possessive quantifiers (*+, ++, {3,}+) keep these patterns linear: answers are whatever a model wrote.
_HEADING = re.compile(
    r"^[ \t]*+(?:(?P<hash>#{1,6}[ \t]*+)(?=\S)|(?:\d++[.)][ \t]++|[-*+][ \t]++)?(?=\*\*))(?P<line>.*)$", re.M
)
_TITLE = re.compile(
    rf"\**+(?:\d++[.)][ \t]*+)?+\**+(?P<title>(?:{'|'.join(TITLES)})s?\b(?![ \t]+is\b)[^*:\n]*+)"
    r"(?:\**+:?+\**+[ \t#]*+|(?:\*\*[ \t]*:|:(?:[ \t]*\*\*)?)[ \t]*(?P<said>\S.*))$",
    re.IGNORECASE,
)
"""A known title, with or without a number before it, a colon, and what is said on the same line."""
_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}+|~{3,}+)(?P<info>[^`\n]*)$")
_SAYS = re.compile(
    r"(?:final answer|the answer)(?: is|:| =)[ \t]*(?P<said>\S[^\n]*)|^\**answer\**:[ \t]*(?P<line>\S[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*+\{")
_BRACE = re.compile(r"(?<!\\)[{}]")
LANGUAGES = {"cpp": ("cpp", "c++", "cc", "cxx"), "python": ("python", "py")}
"""How fences name a language, versions apart."""
_PROGRAM = {"cpp": re.compile(r"\bmain\s*\("), "python": re.compile(r"\S")}
_UNNAMED = {"cpp": _PROGRAM["cpp"], "python": re.compile(r"\b(?:print|write|writelines)\b")}
"""What tells a program from a sample of its output, in a fence without a name."""


@dataclass(frozen=True)
class Section:
    """A part of an answer: its heading, empty for what stands before the first, and the text below."""

    title: str
    text: str


@dataclass(frozen=True)
class _Fence:
    """Fenced code: what its first line names, from where to where it goes, the code, and whether it ends."""

    language: str
    start: int
    end: int
    code: str
    complete: bool


def split_sections(text: str) -> tuple[Section, ...]:
    """The answer in parts by its headings (`## Title`, or a known title in bold); those in fenced code are code."""
    text = text[:MOST_LETTERS]
    fences = _find_fences(text)
    begins = [fence.start for fence in fences]
    ends_before = [0, *(fence.end for fence in fences)]
    outside = [m for m in _HEADING.finditer(text) if m.start() >= ends_before[bisect_right(begins, m.start())]]
    marks = [(m, heading) for m in outside if (heading := _read_heading(m))]
    starts, ends = [0, *(m.end() for m, _ in marks)], [*(m.start() for m, _ in marks), len(text)]
    headings = [("", ""), *(heading for _, heading in marks)]
    parts = [
        Section(title, f"{said}\n{text[a:b]}".strip())
        for (title, said), a, b in zip(headings, starts, ends, strict=True)
    ]
    return tuple(part for part in _merge_headings(parts) if part.title or part.text)


def _merge_headings(parts: Sequence[Section]) -> list[Section]:
    """A heading with nothing below it, behind a known title and with none or another known one to follow, is what that
    title says: `## Final answer`, `### 571`, but not `### Part C`, `#### C.3`.
    """
    told, known = list(parts[:1]), [bool(_TITLE.match(part.title)) for part in parts] + [True]
    for number, part in enumerate(parts[1:], 1):
        before = told[-1]
        if not part.text and not before.text and known[number - 1] and not known[number] and known[number + 1]:
            told[-1] = replace(before, text=part.title)
        else:
            told.append(part)
    return told


def _read_heading(line: re.Match[str]) -> tuple[str, str] | None:
    """The title and what is said on the same line; None where the line is none, only bold."""
    known = _TITLE.match(line["line"].strip())
    if known:
        said = known["said"] or ""
        return known["title"].strip(), said.removesuffix("**").strip() if said.count("**") % 2 else said
    return (line["line"].strip("# \t\r").strip("*").strip(": "), "") if line["hash"] else None


def _find_fences(text: str) -> list[_Fence]:
    """All fenced code. An unclosed fence goes to the end."""
    found, lines, place = list[_Fence](), list[str](), 0
    opened: re.Match[str] | None = None
    start = 0
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line.rstrip("\r\n"))
        place += len(line)
        if opened is None:
            if match:
                opened, start, lines = match, place, []
        elif match and match["marks"].startswith(opened["marks"]) and not match["info"].strip():
            found.append(_Fence(_read_language(opened["info"]), start, place, "\n".join(lines), True))
            opened = None
        else:
            lines.append(line.rstrip("\r\n"))
    if opened is not None:
        found.append(_Fence(_read_language(opened["info"]), start, len(text), "\n".join(lines), False))
    return found


def _read_language(info: str) -> str:
    """The name in the first line of a fence, such as "python main.py", "c++17" or "{.python}"."""
    first = (info.lower().strip(" \t{}.") or " ").split(maxsplit=1)[:1]
    name = "".join(first).split("{")[0].strip(".,:}")
    return name[:1] + name[1:].rstrip(".0123456789")


def final_answer(text: str, titles: Sequence[str]) -> str | None:
    r"""The final answer: the section of the first of `titles`, its last box where it has one.

    Without that section: the last \boxed{...} of the whole answer, then the last "the answer is ...". None where there
    is nothing of the kind.
    """
    answer = strip_thinking(text)[:MOST_LETTERS]
    named = find_final(split_sections(answer), titles)
    if named:
        return find_boxed(named.text) or _strip_marks(named.text)
    found = find_boxed(answer)
    if found:
        return found
    said = list(_SAYS.finditer(answer))
    return (said[-1]["said"] or said[-1]["line"]).strip(" *") or None if said else None


def _strip_marks(text: str) -> str:
    """The text without a rule below it and without bold type around all of it."""
    text = re.sub(r"\n[ \t]*(?:-{3,}|\*{3,}|_{3,})$", "", text).strip()
    bold = re.fullmatch(r"\*\*([^*]+)\*\*", text)
    return bold[1].strip() if bold else text


def find_final(parts: Sequence[Section], titles: Sequence[str]) -> Section | None:
    """The last part with the first of `titles`, or simply called the final answer; None where there is none."""
    for wanted in (*titles[:1], "final answer"):
        found = [part for part in parts if part.title.lower().startswith(wanted.lower()) and part.text]
        if found:
            return found[-1]
    return None


def find_boxed(text: str) -> str | None:
    r"""The content of the last \boxed{...} or \fbox{...}, braces balanced."""
    boxes = {m.end() for m in _BOX.finditer(text)}
    opened, last, content = list[int](), -1, ""
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.end())
        elif opened and (start := opened.pop()) in boxes and start > last:
            last, content = start, text[start : brace.start()]
    return content.strip() or None


def find_program(text: str, language: str, header_name: str = "") -> str | None:
    """The last complete fenced program in this language; of fences that name none only where no fence names it.

    With the name of a header, the last one that includes it.
    """
    fences = _find_fences(strip_thinking(text)[:MOST_LETTERS])
    named = [fence for fence in fences if fence.language in LANGUAGES[language]]
    wanted = _PROGRAM[language] if named else _UNNAMED[language]
    if header_name:
        wanted = re.compile(rf"#\s*include\s*[\"<]{re.escape(header_name)}[\">]")
    unnamed = [fence for fence in fences if not fence.language]
    good = [fence.code for fence in named or unnamed if fence.complete and wanted.search(fence.code)]
    return good[-1].strip("\n") + "\n" if good else None
