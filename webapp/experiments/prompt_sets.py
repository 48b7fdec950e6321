"""Sets of prompts: read from what is uploaded, saved, removed, chosen by name, and asked with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from llm import prompts
from simulation.names import find_name, match_name
from webapp.audit import record
from webapp.base import zips
from webapp.base.uses import describe_uses
from webapp.experiments.models import Experiment, PromptSet
from webapp.experiments.signals import prompt_set_uses_requested

UPLOAD = "experiments.add_promptset"
"""The right to bring prompts here."""
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
    scoring = [
        f"{name}.txt scores the answers of all methods alike: leave it out"
        for name in prompts.MEASURE
        if name in changed
    ]
    if faults := [*scoring, *prompts.find_faults(changed)]:
        raise BadPrompts(faults)
    return changed


def _unpack(files: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """(path, content) of the files, without what a file system added. Raises BadPrompts."""
    found: list[tuple[str, bytes]] = []
    for name, data in files:
        try:
            found += _unpack_archive(name, data) if name.lower().endswith(".zip") else _drop_clutter({name: data})
        except ValueError as error:
            raise BadPrompts([str(error)]) from error
        if len(found) > MOST_FILES or sum(len(content) for _, content in found) > MOST_BYTES:
            raise BadPrompts([f"the upload has more than {MOST_FILES} files or {MOST_BYTES >> 20} MB"])
    return found


def _unpack_archive(name: str, data: bytes) -> list[tuple[str, bytes]]:
    """The files of an archive; their paths begin with its name. Raises ValueError."""
    inside = _drop_clutter(zips.unpack(name, data, MOST_FILES, MOST_BYTES))
    return [(f"{name}/{path}", content) for path, content in inside]


def _drop_clutter(files: Mapping[str, bytes]) -> list[tuple[str, bytes]]:
    """The files, without those that a file system put there and not a person."""
    return [(path, content) for path, content in files.items() if not _is_left_behind(path)]


def _is_left_behind(path: str) -> bool:
    """Whether a file system put the file into the archive, not a person."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(path).parts)


def _read_texts(files: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """The texts by the name of the prompt. Raises BadPrompts."""
    texts: dict[str, str] = {}
    paths: dict[str, str] = {}
    reasons = []
    for path, data in files:
        file = PurePosixPath(path)
        if file.suffix.lower() != ENDING:
            reasons.append(f"{file.name} is no text of a prompt: its name must end with {ENDING}. Leave it out")
        elif file.stem in paths:
            reasons.append(f"{file.name} is there twice, as {paths[file.stem]} and {path}: leave one out")
        else:
            paths[file.stem] = path
            try:
                texts[file.stem] = _read_text(data)
            except ValueError as error:
                reasons.append(f"{file.name} {error}")
    if reasons or not texts:
        raise BadPrompts(reasons or ["there is no text of a prompt, which is a file such as feedback.txt"])
    return texts


def _read_text(data: bytes) -> str:
    """Raises ValueError with what is wrong, to follow the file's name."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8: save it as UTF-8 text") from None
    if "\0" in text:
        raise ValueError("has a NUL character: save it as plain text")
    if not text.strip():
        raise ValueError("is empty: write a text, or leave it out")
    return text


@transaction.atomic
def add_set(name: str, texts: Mapping[str, str], by: Any) -> PromptSet:
    """Save a set. Raises ValueError where the name cannot be used, or another set has the same texts."""
    row = PromptSet(name=name.strip(), texts=dict(sorted(texts.items())), added_by=by.get_username())
    if alike := find_alike(row.name):
        raise ValueError(
            f"There is a set {alike} already. The texts of a set never change: choose another name, with other "
            "letters or digits."
        )
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
def remove_set(row: PromptSet, by: Any) -> None:
    """Delete a set that nothing uses. Raises ValueError with what uses it."""
    row = PromptSet.objects.select_for_update().get(pk=row.pk)
    if uses := list_uses([row])[row.pk]:
        raise ValueError(" ".join(describe_uses(row, uses)))
    record(by, "removed prompts", row, digest=row.digest)
    row.delete()


def list_uses(rows: Sequence[PromptSet]) -> dict[int, list[tuple[str, list[str]]]]:
    """Primary key of each set -> (kind of row, names) of what uses it, and so prevents its removal."""
    answers: list[tuple[Any, Any]] = prompt_set_uses_requested.send(PromptSet, prompt_sets=rows)
    experiments = Experiment.objects.filter(prompt_set__in=rows).order_by("pk").values_list("prompt_set", "name")
    uses = [("experiment", experiments), *(answer for _, answer in answers)]
    found = [(kind, [(key, name) for key, name in users]) for kind, users in uses]
    return {row.pk: _pick_uses(row.pk, found) for row in rows}


def _pick_uses(wanted: int, uses: Iterable[tuple[str, list[tuple[int, str]]]]) -> list[tuple[str, list[str]]]:
    named = [(kind, [name for key, name in users if key == wanted]) for kind, users in uses]
    return [(kind, names) for kind, names in named if names]


def find_set(name: str) -> PromptSet:
    """The set of this name, in any case and however its words are joined. Raises ValueError with the known ones."""
    known = list(PromptSet.objects.values_list("name", flat=True))
    if not known:
        raise ValueError(f"there is no set of prompts {name!r}: an administrator uploads sets on the Data page")
    return PromptSet.objects.get(name=find_name("set of prompts", name, known))


def find_alike(name: str) -> str:
    """The name of the set that a variant means by this name, in any case and spacing; empty if there is none."""
    known = PromptSet.objects.values_list("name", flat=True)
    return next((one for one in known if match_name(name, [one])), "")


def explain_misfit(experiment: Experiment) -> str:
    """Why this version cannot use the prompts that the experiment chose; empty if it can."""
    chosen = experiment.prompt_set
    faults = chosen.faults if chosen else []
    return (
        f"This version of Prefine cannot ask with the prompts {chosen}: {'; '.join(faults)}. Retry goes on with the "
        "version that they were uploaded to; else begin another experiment with a set that fits."
        if faults
        else ""
    )


@contextmanager
def use_chosen_prompts(experiment: Experiment) -> Iterator[None]:
    """Ask with the prompts that the experiment chose, and score with those of the site. For a process that does one job
    at a time.
    """
    if experiment.prompt_set is None:
        yield
        return
    own = prompts.read_own()
    texts = {name: text for name, text in experiment.prompt_set.texts.items() if name not in prompts.MEASURE}
    with prompts.use_own(texts | {name: own[name] for name in prompts.MEASURE if name in own}):
        yield
