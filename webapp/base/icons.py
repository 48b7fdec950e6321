"""Icons of pages: each bundle of pages has its own file of them."""

from __future__ import annotations

from functools import cache

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString


@cache
def draw_icon(file: str, name: str) -> SafeString:
    """An icon of a file of static/. Kept, because a page to judge on has 44 of them."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>', static(file), name
    )
