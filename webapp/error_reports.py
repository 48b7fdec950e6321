"""Reports of errors to Sentry, where PREFINE_SENTRY_DSN is set: where the code failed and how, without people."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings

from webapp.base import logs

KEPT = ("event_id", "timestamp", "level", "logger", "platform", "release", "environment", "exception", "logentry")
KEPT_OF_SDK = ("sdk", "modules", "_meta", "contexts")
"""Parts of a report that are sent. Left out are the request with its address, cookies and form, the user, the machine,
breadcrumbs, the arguments of tasks, and what a message of the log or of the database names."""

DETAIL = re.compile(r"\n(?:DETAIL|CONTEXT):.*", re.DOTALL)
"""Where PostgreSQL names the values of a row."""


def start() -> None:
    if not settings.SENTRY_DSN:
        return
    import sentry_sdk  # only where it is used: it costs a quarter of a second

    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        release=f"prefine@{settings.VERSION}",
        send_default_pii=False,
        include_local_variables=False,
        include_source_context=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        server_name="prefine",
        traces_sample_rate=None,
        auto_session_tracking=False,
        before_send=strip_report,
    )


def strip_report(event: Any, hint: dict[str, Any]) -> Any:
    """What is sent of this report: known parts alone, without personal links."""
    kept = {name: event[name] for name in (*KEPT, *KEPT_OF_SDK) if name in event}
    kept["contexts"] = {name: kept.get("contexts", {}).get(name, {}) for name in ("runtime", "trace")}
    if "logentry" in kept:  # the words of the code, without the values that were put into them
        kept["logentry"] = {"message": kept["logentry"].get("message", "")}
    for error in kept.get("exception", {}).get("values", ()):
        error["value"] = DETAIL.sub("", error.get("value") or "")
    stripped = _hide_links(kept)
    return stripped | {"tags": logs.read_context()}


def _hide_links(value: Any) -> Any:
    if isinstance(value, str):
        return logs.hide_links(value)
    if isinstance(value, dict):
        return {key: _hide_links(inner) for key, inner in value.items()}
    return [_hide_links(inner) for inner in value] if isinstance(value, list | tuple) else value
