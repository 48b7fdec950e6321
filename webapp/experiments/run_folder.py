"""The folder in which a worker trains, on its machine's own disk, and what of it others find in the store.

Where the store keeps its runs in that very folder, what is written there is published thereby. Elsewhere
(PREFINE_SCRATCH) files are published when they are needed or done, checkpoints now and then, and a worker fetches what
another one left.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from trainer.records import FINAL, rollout_path
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments.models import Experiment, Request

NEEDED = re.compile(r"rollouts/[^/]+\.npz|traces/[^/]+\.csv|checkpoints/(split\.json|policies/[^/]+\.pt)")
"""What others need: to film, to show, to export, to start from, and to go on."""
STATE = re.compile(r"checkpoints/shard-\d+-\d+/(checkpoint\.pt|progress\.json|result\.json)")
"""How far the training is. It counts on what is NEEDED, so it is published after that, as it was before."""
JOB, LOG = "job.json", "log.txt"
DONE = ("progress.json", "result.json")
DESCRIPTION = re.compile(r"job\.json|progress\.json|result\.json|checkpoints/split\.json")
"""What says which training it was and what came of it."""
CONTINUED = re.compile(f"{JOB}|{NEEDED.pattern}|{STATE.pattern}")
"""What a worker needs to go on with a training."""
FOLDER = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:-\d+)+(?:\.part)?")
"""As `of` names it, and a copy on its way there."""
MARK = "worker.txt"
"""Names the last worker that trained: its folder is the newest, any other machine's is stale."""
PUBLISH_SECONDS = 60.0
"""Between two times that checkpoints are published."""
MOST_CHECKPOINT = 256 << 20
"""Bytes. A larger one (SAC's holds its replay) stays on its disk; elsewhere the training begins again."""
Beat = Callable[[], None]
"""Renews the worker's lease, since copying may take longer than a lease lasts."""


def get_folder(request: Request) -> Path:
    """The folder of a Train request on this machine. It need not be there."""
    return scratch.get_folder() / request.run_key.partition("/")[2]


def is_in_store() -> bool:
    """Whether what is written into the folder is in the store thereby."""
    return store.is_at("runs", scratch.get_folder())


def get_rollout_key(request: Request, position: int, percent: int = FINAL, number: int = 1) -> str:
    """Of a candidate's rollout in the store, as trainer.records.rollout_path names it."""
    return f"{request.run_key}/{rollout_path(Path(), position, percent, number).as_posix()}"


def has_begun(request: Request) -> bool:
    """Whether a worker has trained, here or on another machine."""
    return get_folder(request).exists() or bool(store.keys(request.run_key))


def fetch(request: Request, owner: str, beat: Beat) -> None:
    """Bring what another worker published of this training, unless this machine was the last to train it; then say in
    the store that it is. `owner`: another one for each worker and attempt. `beat` is called after each file.
    """
    folder, mark = get_folder(request), f"{request.run_key}/{MARK}"
    if is_in_store():
        store.delete(mark)
        return
    last, here = _read_file(mark), folder / MARK
    if last is not None and here.is_file() and here.read_bytes() == last:
        fetch_files(request, folder, re.compile(JOB), beat)  # a person's words may have been taken out of it
    elif store.keys(request.run_key):
        shutil.rmtree(folder, ignore_errors=True)
        fetch_files(request, folder, CONTINUED, beat)
    folder.mkdir(parents=True, exist_ok=True)
    here.write_text(owner)
    store.publish(mark, owner.encode())


def fetch_files(request: Request, folder: Path, wanted: re.Pattern[str], beat: Beat) -> None:
    """Copy the files with such names from the store, large checkpoints excepted; `beat` is called after each."""
    for key in store.keys(request.run_key):
        name = key.removeprefix(f"{request.run_key}/")
        if wanted.fullmatch(name) and (NEEDED.fullmatch(name) or (store.size(key) or 0) <= MOST_CHECKPOINT):
            store.fetch(key, folder / name)
            beat()


def _read_file(key: str) -> bytes | None:
    if store.size(key) is None:
        return None
    with store.open(key) as file:
        return file.read()


def rewrite(request: Request, swap: Callable[[str], str]) -> None:
    """Change the words in the files of a training that hold rewards, or quote them: in the store, and here."""
    before = _read_file(f"{request.run_key}/{JOB}")
    after = _swap_text(before or b"", swap)
    if before is not None and after != before:
        store.publish(f"{request.run_key}/{JOB}", after)
    log = get_folder(request) / LOG  # it stays the file that a training has open, which goes on writing at its end
    if log.is_file() and not log.is_symlink():
        before = log.read_bytes()
        if (after := _swap_text(before, swap)) != before:
            log.write_bytes(after)


def _swap_text(content: bytes, swap: Callable[[str], str]) -> bytes:
    return swap(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def delete_stale() -> None:
    """Delete this machine's folders of trainings that are over or gone: what is needed of them is in the store."""
    if is_in_store() or not scratch.get_folder().is_dir():
        return
    for path in scratch.get_folder().iterdir():
        named = FOLDER.fullmatch(path.name)
        if named and path.name.removesuffix(".part") not in _folders_in_use(uuid.UUID(named[1])):
            shutil.rmtree(path, ignore_errors=True)


def _folders_in_use(experiment: uuid.UUID) -> set[str]:
    """Names of the folders of requests that may go on."""
    requests = Request.objects.filter(experiment__public_id=experiment).select_related("experiment")
    live = requests.filter(status__in=(Request.Status.OPEN, Request.Status.FAILED))
    return {get_folder(request).name for request in live.exclude(experiment__status=Experiment.Status.CANCELLED)}


class Publisher:
    """Publishes a training while it runs. `beat` is called after each file."""

    def __init__(self, request: Request, beat: Beat) -> None:
        self.request, self.folder, self._beat = request, get_folder(request), beat
        self._needless = is_in_store()
        self._sent: dict[str, tuple[int, int]] = {}
        """Name -> time and size of what is in the store."""
        self._at = time.monotonic()

    def publish_job(self) -> None:
        """The job, once it is written. Not again: the store's copy is the one that words are taken out of."""
        if not self._needless and store.size(self._key(JOB)) is None:
            store.publish(self._key(JOB), self.folder / JOB)

    def publish_if_due(self) -> None:
        if time.monotonic() - self._at >= PUBLISH_SECONDS:
            self.publish()

    def publish(self) -> None:
        """Everything so far."""
        if self._needless:
            return
        with scratch.temporary_folder("publish") as kept:  # the trainer replaces files, so a link holds one state
            state = {name: kept / str(number) for number, name in enumerate(self._names(STATE))}
            for name, link in state.items():
                os.link(self.folder / name, link, follow_symlinks=False)
            for name in self._names(NEEDED):
                self._send(name, self.folder / name)
            for name, link in state.items():
                if link.stat().st_size <= MOST_CHECKPOINT:
                    self._send(name, link)
        self._at = time.monotonic()

    def finish(self) -> None:
        """The result; then no checkpoints are needed any more."""
        self.publish()
        if self._needless:
            return
        for name in DONE:
            self._send(name, self.folder / name)
        for key in store.keys(self._key("checkpoints")):
            if STATE.fullmatch(key.removeprefix(self._key(""))):
                store.delete(key)

    def clear(self) -> None:
        """Delete the folder, of which the store has everything that is needed."""
        if not self._needless:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _key(self, name: str) -> str:
        return f"{self.request.run_key}/{name}"

    def _names(self, wanted: re.Pattern[str]) -> list[str]:
        """Of files, links excepted: generated code may write there."""
        paths = [Path(here, name) for here, _, names in os.walk(self.folder) for name in names]
        found = {path.relative_to(self.folder).as_posix(): path for path in paths if not path.is_symlink()}
        return sorted(name for name in found if wanted.fullmatch(name))

    def _send(self, name: str, path: Path) -> None:
        if path.is_symlink() or not path.is_file():
            return
        seen = path.stat()
        if self._sent.get(name) != (seen.st_mtime_ns, seen.st_size):
            store.publish(self._key(name), path)
            self._sent[name] = (seen.st_mtime_ns, seen.st_size)
            self._beat()
