"""What every page of the studio is drawn with."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from webapp import styles

register = template.Library()


@register.simple_tag
def style(bundle: str) -> SafeString:
    return SafeString(f"<style>{styles.sheet(bundle)}</style>")
