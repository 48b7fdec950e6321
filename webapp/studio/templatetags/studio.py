"""Tags and filters of the studio's pages."""

from __future__ import annotations

import re

from django import template
from django.conf import settings
from django.template import Context
from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.base import stylesheets
from webapp.base.icons import draw_icon
from webapp.base.text_lines import split_lines
from webapp.problems.media import films
from webapp.problems.medium import Medium
from webapp.studies.models import Study
from webapp.studies.texts.localizing import Owner, find_language, normalize
from webapp.studio import page_language, scripts

register = template.Library()


@register.simple_tag
def style(bundle: str) -> SafeString:
    return SafeString(f"<style>{stylesheets.read_bundle(bundle)}</style>")


@register.simple_tag
def icon(name: str) -> SafeString:
    return draw_icon("studio/icons.svg", name)


@register.simple_tag
def words_address() -> str:
    """The address of the scripts' words in the page's language."""
    return page_language.find_words_address(translation.get_language() or settings.LANGUAGE_CODE)


@register.simple_tag
def scripts_address(bundle: str) -> str:
    return scripts.find_address(bundle)


@register.simple_tag(takes_context=True)
def offered_languages(context: Context) -> list[tuple[str, str]]:
    """The code and own name of each language in which this page is offered; empty where there is no choice."""
    offered = getattr(context.get("request"), "offered_languages", ())
    return [row for row in settings.LANGUAGES if row[0] in offered] if len(offered) > 1 else []


@register.simple_tag
def lang(owner: Owner, text: str) -> SafeString:
    """The lang attribute for a text of a study or an A/B vote; empty if it is in the page's language."""
    language = find_language(owner, text, translation.get_language() or settings.LANGUAGE_CODE)
    return format_html(' lang="{}"', language) if language else SafeString("")


@register.simple_tag
def reason(study: Study, words: str) -> str:
    """A reason for a choice in the page's language; a study's own reasons are the lines of a text."""
    for text in (study.reasons_best, study.reasons_worst):
        lines, shown = (split_lines(part) for part in (text, study.spoken.get(normalize(text), "")))
        if words in lines:
            return shown[lines.index(words)] if len(shown) == len(lines) else words
    return translation.gettext(words)


HEAD = re.compile(r"(\w[^.:!?。：\n]{1,38}(?:[.:](?=\s)|：))\s*(?=\S)")
"""A short heading at the start of a paragraph, for example "Your data." in "Your data. We keep ..."."""


@register.filter
def paragraphs(text: str) -> SafeString:
    """Plain text as paragraphs; their headings stand out if at least two paragraphs have one."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")) if part.strip()]
    heads = [_find_head(part) for part in parts]
    if sum(map(bool, heads)) < 2:
        heads = [""] * len(parts)
    return format_html_join("\n", "<p>{}{}</p>", [_mark_head(*both) for both in zip(heads, parts, strict=True)])


def _find_head(part: str) -> str:
    found = HEAD.match(part)
    return found[1] if found and len(found[1].split()) <= 4 else ""


def _mark_head(head: str, part: str) -> tuple[SafeString, SafeString]:
    mark = format_html("<strong>{}</strong> ", head) if head else SafeString("")
    lines = part.removeprefix(head).strip().split("\n")
    return mark, format_html_join(SafeString("<br>"), "{}", [(line,) for line in lines])


@register.filter
def partial(medium: Medium | str, name: str) -> str:
    """The template of this part of a page for this medium; that for films if a study has no plan yet."""
    return f"studio/{medium.name if isinstance(medium, Medium) else films.MEDIUM.name}/{name}.html"
