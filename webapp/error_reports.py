"""Reports of errors to Sentry, where PREFINE_SENTRY_DSN is set: kind, place and id, without what people wrote."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from webapp.base import logs

KEPT = ("event_id", "timestamp", "level", "logger", "platform", "release", "environment", "sdk", "modules")
"""Parts of a report that are sent as they are. Left out are the request with its address, cookies and form, the user,
the machine, breadcrumbs, the arguments of tasks, and whatever the error or a line of the log says, which may quote a
person or a model.
"""
FRAME = ("filename", "module", "function", "lineno", "in_app")
OURS = ("webapp", "trainer", "llm", "simulation")
"""Packages whose lines of the log name values apart from their words."""
TAGS = ("request", "job")


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
    """What is sent of this report."""
    kept = {name: event[name] for name in KEPT if name in event}
    kept["contexts"] = {name: event.get("contexts", {}).get(name, {}) for name in ("runtime", "trace")}
    errors = event.get("exception", {}).get("values", ())
    if errors:
        kept["exception"] = {"values": [_strip_error(error) for error in errors]}
    if event.get("logger", "").partition(".")[0] in OURS and "logentry" in event:
        kept["logentry"] = {"message": event["logentry"].get("message", "")}
    return kept | {"tags": {name: value for name, value in logs.read_context().items() if name in TAGS}}


def _strip_error(error: dict[str, Any]) -> dict[str, Any]:
    """The kind of an error, and where it was raised."""
    frames = (error.get("stacktrace") or {}).get("frames", ())
    places = [{name: frame[name] for name in FRAME if name in frame} for frame in frames]
    return {"type": error.get("type"), "module": error.get("module"), "stacktrace": {"frames": places}}
