from __future__ import annotations

from typing import Any

from django import template

from webapp.archive import retention

register = template.Library()


@register.inclusion_tag("bench/data/_deletion_notice.html")
def deletion_notice() -> dict[str, Any]:
    """Announces on every page of the bench that a study's data is about to be deleted."""
    return {"ending": retention.list_ending_soon()}
