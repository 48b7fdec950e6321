"""Equal lengths: what is sent of a clip is followed by bytes that players skip, up to the longest of its page."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.base.store import store
from webapp.experiments.models import Clip

BLOCK = 4096
FREE_BOX = 8
"""Bytes of the smallest MP4 box."""


def sizes(clips: Sequence[Clip]) -> tuple[int, int]:
    """Bytes at which all of these are sent, and all of their posters; 0 where there is no file."""
    return _common([clip.video for clip in clips], FREE_BOX), _common([clip.poster for clip in clips], 0)


def _common(names: list[str], least: int) -> int:
    longest = max((store.size(name) or 0 for name in names), default=0)
    return longest and -(-(longest + least) // BLOCK) * BLOCK


def tail(file_size: int, size: int, content_type: str) -> bytes:
    """What follows a file: a `free` box behind an MP4; zeros behind a JPEG's end, where readers stop."""
    length = max(0, size - file_size)
    head = length.to_bytes(4, "big") + b"free" if content_type == "video/mp4" and length >= FREE_BOX else b""
    return head + bytes(length - len(head))
