r"""TeX between \( and \) or \[ and \] as a rule of markdown-it, in linear time.

mdit-py-plugins' texmath takes quadratic time on many openings, loses text behind \] on its line, and does not see a
formula that begins in the middle of a paragraph.
"""

from __future__ import annotations

from bisect import bisect_left

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.utils import EnvType

CLOSINGS = {"\\(": "\\)", "\\[": "\\]"}
INLINE, DISPLAY = "math_inline", "math_inline_double"
"""Names of the tokens, as the plugin for dollar signs has them."""


def recognize_brackets(reader: MarkdownIt) -> None:
    """Make `reader` recognize both kinds of brackets, in paragraphs and as blocks."""
    reader.inline.ruler.before("escape", "brackets", _parse_inline)
    interrupts = {"alt": ["paragraph", "blockquote", "list"]}
    reader.block.ruler.before("fence", "brackets_block", _parse_block, interrupts)  # type: ignore[arg-type]


def _find_closing(env: EnvType, text: str, closing: str, begin: int, end: int) -> int:
    """The position of the next `closing`; -1 if there is none. Cached, so that many openings take linear time."""
    known = env.setdefault("closings", {})
    since, found = known.get((text, closing, end), (end + 1, -1))
    if since > begin or -1 < found < begin:
        found = text.find(closing, begin, end)
        known[text, closing, end] = (begin, found)
    return int(found)


def _parse_inline(state: StateInline, silent: bool) -> bool:
    opening = state.src[state.pos : state.pos + 2]
    if opening not in CLOSINGS:
        return False
    begin = state.pos + 2
    closed = _find_closing(state.env, state.src, CLOSINGS[opening], begin, state.posMax)
    if closed < 0 or not state.src[begin:closed].strip():
        return False
    if not silent:
        token = state.push(INLINE if opening == "\\(" else DISPLAY, "math", 0)
        token.content, token.markup = state.src[begin:closed], opening
    state.pos = closed + 2
    return True


def _parse_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    r"""Lines from one that begins with \[ to one that ends with \]: all text between them is TeX.

    A formula with words behind it on its last line belongs to a paragraph (`_parse_inline`).
    """
    if silent:  # a paragraph asks whether it ends here; its `last` may lie beyond the enclosing quote or list
        last = min(last, state.env.get("last", last))
    state.env["last"] = last
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[last - 1]
    if not state.src.startswith("\\[", begin):
        return False
    closed = _find_closing(state.env, state.src, "\\]", begin + 2, end)
    line = bisect_left(state.eMarks, closed + 2, first, last)
    if closed < 0 or line == last or state.src[closed + 2 : state.eMarks[line]].strip():
        return False
    lines = state.getLines(first, line + 1, state.blkIndent, False).strip()
    if not lines.removesuffix("\\]")[2:].strip():
        return False
    if not silent:
        token = state.push(DISPLAY, "math", 0)
        token.block, token.markup, token.map = True, "\\[", [first, line + 1]
        token.content = lines.removesuffix("\\]")[2:]
        state.line = line + 1
    return True
