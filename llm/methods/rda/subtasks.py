"""The subtasks of RDA: reading a model's list, and its revision of at most one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 10
_ITEM = re.compile(
    r"^\s*(?:\*\*)?(?:subtask\s*)?(?:(?P<number>\d+)\s*[.):](?!\d)|[-*\u2022])\s*(.+?)\s*$", re.IGNORECASE
)
_REVISE = re.compile(r"^\W*revise\W+(?:subtask\W+)?(\d+)\W*[:.)]\W*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


def read_subtasks(text: str, task: str) -> tuple[str, ...]:
    """The items of the model's list, "name: what is seen", in order; the last is the success of the task.

    At most ten: of a longer list the last stays. Where two items or more have numbers, other lines only say
    more of them. Where
    there is no list, the task itself is the only subtask.
    """
    found = [match for line in text.splitlines() if (match := _ITEM.match(line))]
    numbered = [match for match in found if match["number"]]
    items = [match[2].replace("**", "").strip() for match in (numbered if len(numbered) > 1 else found)]
    items = [item for item in items if item]
    if len(items) > MOST:
        items = [*items[: MOST - 1], items[-1]]
    return tuple(items) or (f"Success: {task.strip()}",)


def number_subtasks(subtasks: Sequence[str]) -> str:
    """The subtasks as a list, one a line, from 1."""
    return "\n".join(f"{i}. {subtask}" for i, subtask in enumerate(subtasks, 1))


def revise_subtasks(subtasks: Sequence[str], answer: str) -> tuple[str, ...]:
    """The subtasks with the first revision that the answer names; all others, and their number, stay."""
    for number, text in _REVISE.findall(answer):
        place = int(number) - 1
        if 0 <= place < len(subtasks):
            return (*subtasks[:place], text.replace("**", "").strip(), *subtasks[place + 1 :])
    return tuple(subtasks)
