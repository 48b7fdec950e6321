"""Sets of prompts: read from what is uploaded, saved, removed, chosen by name, and asked with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from llm import prompts
from simulation.names import find_name
from webapp.audit import record
from webapp.base import zips
from webapp.experiments.models import Experiment, PromptSet
from webapp.experiments.signals import prompt_set_uses_requested
from webapp.problems.uses import describe

MOST_FILES, MOST_BYTES = 500, 4 << 20
"""Limits of an upload, unpacked."""
ENDING = ".txt"


class BadPrompts(ValueError):
    """Files that are no set of prompts."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def read_files(files: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """The texts that replace prompts, from uploaded archives and text files. Raises BadPrompts with every reason."""
    texts = _read_texts(_unpack(files))
    own = prompts.read_published()
    changed = {name: text for name, text in texts.items() if text.strip() != own.get(name, "").strip()}
    if not changed:
        raise BadPrompts(["every text is Prefine's own: change those that you want in other words, and upload again"])
    if faults := prompts.find_faults(changed):
        raise BadPrompts(faults)
    return changed


def _unpack(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """The files by their paths, without what a file system added. Raises BadPrompts."""
    found: dict[str, bytes] = {}
    for name, data in files:
        try:
            inside = zips.unpack(name, data, MOST_FILES, MOST_BYTES) if name.lower().endswith(".zip") else {name: data}
        except ValueError as error:
            raise BadPrompts([str(error)]) from error
        found |= {path: content for path, content in inside.items() if not _is_left_behind(path)}
    return found


def _is_left_behind(path: str) -> bool:
    """Whether a file system put the file into the archive, not a person."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(path).parts)


def _read_texts(files: Mapping[str, bytes]) -> dict[str, str]:
    """The texts by the name of the prompt. Raises BadPrompts."""
    texts: dict[str, str] = {}
    reasons = []
    for path, data in files.items():
        file = PurePosixPath(path)
        if file.suffix.lower() != ENDING:
            reasons.append(f"{file.name} is no text of a prompt: its name must end with {ENDING}. Leave it out")
        elif file.stem in texts:
            reasons.append(f"{file.name} is there twice: leave one out")
        else:
            try:
                texts[file.stem] = data.decode("utf-8-sig").replace("\r\n", "\n")
            except UnicodeDecodeError:
                reasons.append(f"{file.name} is not UTF-8: save it as UTF-8 text")
    if reasons or not texts:
        raise BadPrompts(reasons or ["there is no text of a prompt, which is a file such as feedback.txt"])
    return texts


@transaction.atomic
def add(name: str, texts: Mapping[str, str], by: Any) -> PromptSet:
    """Save a set. Raises ValueError where the name cannot be used, or another set has the same texts."""
    row = PromptSet(name=name.strip(), texts=dict(sorted(texts.items())), added_by=by.get_username())
    if PromptSet.objects.filter(name__iexact=row.name).exists():
        raise ValueError(f"There is a set {row.name} already. The texts of a set never change: choose another name.")
    if same := next((one for one in PromptSet.objects.all() if one.digest == row.digest), None):
        raise ValueError(f"The set {same} has these very texts: choose that one.")
    try:
        row.full_clean()
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from error
    row.save()
    record(by, "uploaded prompts", row, digest=row.digest, prompts=list(row.texts))
    return row


@transaction.atomic
def remove(row: PromptSet, by: Any) -> None:
    """Delete a set that nothing uses. Raises ValueError with what uses it."""
    row = PromptSet.objects.select_for_update().get(pk=row.pk)
    if uses := list_uses(row):
        raise ValueError(" ".join(describe(row, uses)))
    record(by, "removed prompts", row, digest=row.digest)
    row.delete()


def list_uses(row: PromptSet) -> list[tuple[str, list[str]]]:
    """(kind of row, names) of what uses this set, and so prevents its removal."""
    answers: list[tuple[Any, Any]] = prompt_set_uses_requested.send(PromptSet, prompt_set=row)
    names = list(Experiment.objects.filter(prompt_set=row).order_by("pk").values_list("name", flat=True))
    return [(kind, found) for kind, found in (("experiment", names), *dict(answers).values()) if found]


def find(name: str) -> PromptSet:
    """The set of this name, typed in any case. Raises ValueError, which names the known ones."""
    known = list(PromptSet.objects.values_list("name", flat=True))
    if not known:
        raise ValueError(f"there is no set of prompts {name!r}: an administrator uploads sets on the Data page")
    return PromptSet.objects.get(name=find_name("set of prompts", name, known))


def explain_misfit(experiment: Experiment) -> str:
    """Why this version cannot ask in the words that the experiment chose; empty where it can."""
    chosen = experiment.prompt_set
    faults = chosen.faults if chosen else []
    return (
        f"This version of Prefine cannot ask with the prompts {chosen}: {'; '.join(faults)}. Retry goes on with the "
        "version that they were uploaded to; else begin another experiment with a set that fits."
        if faults
        else ""
    )


@contextmanager
def use(experiment: Experiment) -> Iterator[None]:
    """Ask in the words that the experiment chose. For a process that does one job at a time."""
    if experiment.prompt_set is None:
        yield
        return
    with prompts.use_own(experiment.prompt_set.texts):
        yield
