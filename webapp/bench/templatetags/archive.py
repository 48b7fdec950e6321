from __future__ import annotations

from typing import Any

from django import template

from webapp.archive import retention

register = template.Library()


@register.inclusion_tag("bench/data/_announced.html")
def announced() -> dict[str, Any]:
    """What every page of the bench says while the data of a study is about to be deleted."""
    return {"ending": retention.announced()}
