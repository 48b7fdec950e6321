"""A vote's own copies of its films and their stills: at equal size, since a size would name a film.

They are made before the transaction that opens the vote, under names that no row has yet. So nothing waits for them,
and what a crash leaves has no row: it is deleted like every such file (webapp.archive.orphan_files).
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence

from webapp.base.store import store
from webapp.experiments.models import Clip
from webapp.votes.models import Pair, Poll

BLOCK = 4096
FREE_BOX = 8
"""Bytes of the smallest MP4 box."""
Sources = dict[tuple[int, str], Clip]
"""(a pair's primary key, "first" or "second") -> the film that it shows there."""


def make_copy_name(file: object, ending: str) -> str:
    return f"votes/{file}.{ending}"


def list_sources(pairs: Sequence[Pair]) -> Sources:
    sides = (((pair.pk, side), getattr(pair, side)) for pair in pairs for side in ("first", "second"))
    return {place: clip for place, clip in sides if clip}


def is_whole(clip: Clip) -> bool:
    """Whether there is something to copy: the film and its still."""
    return clip.status == Clip.Status.READY and bool(store.size(clip.video) and store.size(clip.poster))


class FilmCopies:
    """The copies of one opening."""

    def __init__(self, poll: Poll, pairs: Sequence[Pair]) -> None:
        self.sources = list_sources(pairs)
        self.files = {place: uuid.uuid4() for place in self.sources}
        together = poll.form == Poll.Form.RATINGS  # all are seen one after another, elsewhere the two of a pair
        pair_groups = [[place for place in self.sources if place[0] == pair.pk] for pair in pairs]
        self._groups = [list(self.sources)] if together else pair_groups

    def make(self) -> None:
        """Raises FileNotFoundError where a film is gone."""
        for group in filter(None, self._groups):
            copies, shown = [self.files[place] for place in group], [self.sources[place] for place in group]
            _copy_at_equal_size([clip.video for clip in shown], copies, "mp4")
            _copy_at_equal_size([clip.poster for clip in shown], copies, "jpg")

    def give(self, pair: Pair) -> None:
        """Set the pair's files, without saving."""
        for side in ("first", "second"):
            if (pair.pk, side) in self.files:
                setattr(pair, f"{side}_file", self.files[pair.pk, side])

    def delete(self) -> None:
        """Where the vote was not opened."""
        for file in self.files.values():
            for ending in ("mp4", "jpg"):
                store.delete(make_copy_name(file, ending))


def _copy_at_equal_size(names: Sequence[str], copies: Sequence[uuid.UUID], ending: str) -> None:
    """One after the other: all films of a vote may be more than fits into memory."""
    size = (max(store.size(name) or 0 for name in names) + FREE_BOX) // BLOCK * BLOCK + BLOCK
    for name, copy in zip(names, copies, strict=True):
        with store.open(name) as file:
            content = file.read()
        store.publish(make_copy_name(copy, ending), content + _make_padding(size - len(content), ending))


def _make_padding(length: int, ending: str) -> bytes:
    """Bytes that players skip: a `free` box at the end of an MP4; whatever follows the end of a JPEG image."""
    head = length.to_bytes(4, "big") + b"free" if ending == "mp4" else b""
    return head + secrets.token_bytes(length - len(head))
