"""Padding: every clip of a page is sent at the length of the longest, with bytes at the end that players skip."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.base.store import store
from webapp.experiments.models import Clip

BLOCK = 4096
FREE_BOX = 8
"""Bytes of the smallest MP4 box."""


def compute_sizes(clips: Sequence[Clip]) -> tuple[int, int]:
    """The length at which all of these clips are sent, and that of their posters; 0 if there is no file."""
    return round_up_longest([clip.video for clip in clips], FREE_BOX), round_up_longest(
        [clip.poster for clip in clips], 0
    )


def round_up_longest(names: list[str], least: int) -> int:
    longest = max((store.size(name) or 0 for name in names), default=0)
    return longest and -(-(longest + least) // BLOCK) * BLOCK


def make_tail(file_size: int, size: int, content_type: str) -> bytes:
    """The padding of a file: a `free` box after an MP4; zeros after a JPEG, whose readers stop at its end."""
    length = max(0, size - file_size)
    head = length.to_bytes(4, "big") + b"free" if content_type == "video/mp4" and length >= FREE_BOX else b""
    return head + bytes(length - len(head))
