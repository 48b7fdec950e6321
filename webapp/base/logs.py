"""The logs of every process: one configuration, text for people or JSON for machines, and no personal links."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from pythonjsonlogger.json import JsonFormatter

MESSAGE_HEADER = "prefine_request"
"""The header of a message to workers that holds the request which sent it."""
FORMATS = ("text", "json")
LINK = re.compile(
    r"/(?P<page>ws/s|s|v|n|clip|view|pair|join|take)/[^/\s\"'\\<>?#]+(?P<rest>(?:/[\w-]*)*)(?:\?[^\s\"'\\<>]*)?"
)
"""The addresses that contain a secret of a person, with their queries; a test compares them with the site's."""
CONTEXT: dict[str, ContextVar[str]] = {name: ContextVar(name, default="") for name in ("request", "job", "worker")}
"""What a line is about: the page's request that began it, the job, the worker."""


@contextmanager
def note_context(**context: str) -> Iterator[None]:
    """Lines of this block say that they are about this request, job or worker."""
    tokens = {name: CONTEXT[name].set(value) for name, value in context.items()}
    try:
        yield
    finally:
        for name, token in tokens.items():
            CONTEXT[name].reset(token)


def read_context() -> dict[str, str]:
    """What the current lines are about, without what is unknown."""
    return {name: value for name, variable in CONTEXT.items() if (value := variable.get())}


def hide_links(text: str) -> str:
    """The text with the secret of each personal link, and its query, left out."""
    return LINK.sub(r"/\g<page>/...\g<rest>", text)


class WithoutValues(logging.Filter):
    """Of an unexpected error of a task the log has its kind and its place. What it says may quote generated code or a
    person, and no erasure reaches logs; the page of the job has it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None and isinstance(record.args, dict):
            task = f"Task {record.args.get('name')}[{record.args.get('id')}]"
            record.msg, record.args = "%s failed:\n%s", (task, describe_error(*record.exc_info[1:]))
            record.exc_info = record.exc_text = None
        return True


def describe_error(error: BaseException, trace: TracebackType | None) -> str:
    """The kind of this error and where it was raised, then the same of its cause, without what they say."""
    said = f"{type(error).__qualname__}\n{''.join(traceback.format_tb(trace))}"
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{said}caused by {describe_error(cause, cause.__traceback__)}" if cause else said


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(about)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        words = " ".join(f"{name}={value}" for name, value in read_context().items())
        record.about = f" [{words}]" if words else ""
        return hide_links(super().format(record))


class JsonLines(JsonFormatter):
    def __init__(self) -> None:
        fields = ["levelname", "name", "message", "process"]
        short = {"levelname": "level", "name": "logger", "timestamp": "time"}
        super().__init__(fields, rename_fields=short, timestamp=True, reserved_attrs=[*_STANDARD])

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        super().add_fields(log_data, record, message_dict)
        log_data |= read_context()

    def format(self, record: logging.LogRecord) -> str:
        return hide_links(super().format(record))


_STANDARD = {*logging.LogRecord("", 0, "", 0, "", None, None).__dict__, "message", "asctime", "taskName", "about"}
_STANDARD |= {"request", "server_time", "status_code", "websocket", "color_message", "data"}
"""Attributes of records that are no fields of lines: Django's, uvicorn's and Celery's hold addresses and arguments."""


def build_config(form: str) -> dict[str, Any]:
    """For logging.config.dictConfig. Raises ValueError for an unknown form."""
    if form not in FORMATS:
        raise ValueError(f"it must be {' or '.join(FORMATS)}, not {form!r}")
    formatter = TextLines if form == "text" else JsonLines
    plain: dict[str, Any] = {"handlers": [], "propagate": True, "level": "INFO"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "filters": {"without_values": {"()": WithoutValues}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            **{name: plain for name in ("django", "webapp", "celery", "uvicorn", "uvicorn.error")},
            "uvicorn.access": {**plain, "level": "WARNING"},
            "celery.app.trace": {**plain, "filters": ["without_values"]},
        },
    }
