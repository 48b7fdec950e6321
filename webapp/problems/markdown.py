"""Render untrusted Markdown with TeX as safe HTML, without embedded HTML, links or pictures.

Formulas stay text until the page's KaTeX draws them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

from webapp.problems.brackets import recognize_brackets

MOST_LETTERS = 60_000
"""A longer text is cut, with a note."""
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{3,}|\\[(\[]|[`*<>]")
HEADING_SHIFT = 3
"""Headings of an answer begin below those of the page."""


def render_html(text: str) -> SafeString:
    """The text as HTML without scripts, styles, links or external files, as the strict policy demands."""
    cut = text[:MOST_LETTERS]
    rendered = str(_READER.render(cut))
    if len(text) > MOST_LETTERS:
        rendered += f"<p>(The rest, {len(text) - MOST_LETTERS} letters, is left out.)</p>"
    return mark_safe(rendered)  # noqa: S308 (the reader escapes all text)


def render_formula(tex: str) -> SafeString:
    """A final answer as HTML; one that is a formula without dollar signs is rendered as a formula."""
    bare = not re.search(r"[$\n]", tex.strip()) and re.search(r"[\d\\^_=]", tex) and not _PROSE.search(tex)
    return render_html(f"${tex.strip()}$" if bare else tex)


def _build_reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.disable(["link", "image", "autolink", "html_block", "html_inline", "reference"])
    reader.use(dollarmath_plugin, allow_labels=False, allow_space=True, allow_digits=False, double_inline=True)
    reader.use(recognize_brackets)
    reader.add_render_rule("math_inline", _render_inline)
    for name in ("math_block", "math_inline_double", "math_block_label"):
        reader.add_render_rule(name, _render_display)
    for name in ("heading_open", "heading_close"):
        reader.add_render_rule(name, _render_heading)
    for name in ("th_open", "td_open"):
        reader.add_render_rule(name, _render_cell)
    return reader


def _render_math(content: str, display: str) -> str:
    return f'<span class="math" data-display="{display}">{escape(content.strip())}</span>'


def _render_inline(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return _render_math(tokens[index].content, "no")


def _render_display(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return _render_math(tokens[index].content, "yes")


def _render_heading(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    level = min(6, int(tokens[index].tag[1]) + HEADING_SHIFT)
    return f"</h{level}>\n" if tokens[index].nesting < 0 else f"<h{level}>"


def _render_cell(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    """A cell without the style attribute for alignment, which the policy forbids."""
    return f"<{tokens[index].tag}>"


_READER = _build_reader()
