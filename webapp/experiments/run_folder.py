"""The folder in which a worker trains, on its machine's own disk, and its files in the store.

By default the folder is the store's own. Elsewhere (PREFINE_SCRATCH) the worker publishes files when they are needed
or finished and checkpoints regularly, and fetches those of an earlier worker.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from trainer.records import FINAL, get_rollout_path
from webapp.base import scratch
from webapp.base.store import store
from webapp.experiments.models import Experiment, Request

NEEDED = re.compile(
    r"rollouts/[^/]+\.npz|(traces|preferences)/[^/]+\.csv|queries/[^/]+\.(npz|json)"
    r"|checkpoints/((split|preset)\.json|policies/[^/]+\.pt)"
)
"""Files that others need: to film, to show, to export, to start from, to continue."""
STATE = re.compile(r"checkpoints/shard-\d+-\d+/(checkpoint\.pt|(progress|result|dropped)\.json)")
"""The state of the training. It refers to NEEDED files, so it is published after them, as it was before."""
JOB, LOG = "job.json", "log.txt"
DONE = ("progress.json", "result.json")
DESCRIPTION = re.compile(r"job\.json|progress\.json|result\.json|checkpoints/(split|preset)\.json")
"""Files that identify the training and its result."""
CONTINUED = re.compile(f"{JOB}|{NEEDED.pattern}|{STATE.pattern}")
"""Files that a worker needs to continue a training."""
FOLDER = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:-\d+)+(?:\.part)?")
"""Names of `get_folder`, also with the ending of an unfinished copy."""
MARK = "worker.txt"
"""Holds the name of the last worker that trained: other machines' folders are stale."""
MOST_CHECKPOINT = 256 << 20
"""Bytes. Larger checkpoints (SAC's hold the replay buffer) are not published: another machine starts over. Those with
which a training waits for people are."""
Beat = Callable[[], None]
"""Renews the worker's lease, since copying may take longer than a lease lasts."""


def get_folder(request: Request) -> Path:
    """The folder of a Train request on this machine; it may not exist."""
    return scratch.get_folder() / request.run_key.partition("/")[2]


def is_in_store() -> bool:
    """Whether the folder is the store's own."""
    return store.is_at("runs", scratch.get_folder())


def get_rollout_key(request: Request, position: int, percent: int = FINAL, number: int = 1) -> str:
    """The store's key of a candidate's rollout, named as by trainer.records.get_rollout_path."""
    return f"{request.run_key}/{get_rollout_path(Path(), position, percent, number).as_posix()}"


def has_begun(request: Request) -> bool:
    """Whether a worker has begun the training, on any machine."""
    return get_folder(request).exists() or bool(store.keys(request.run_key))


def fetch(request: Request, owner: str, beat: Beat) -> None:
    """Fetch what another worker published of this training, unless this machine was the last to train it; then put
    the owner into the store. `owner`: a different one for each worker and attempt. `beat` is called after each file.
    """
    folder, mark = get_folder(request), f"{request.run_key}/{MARK}"
    if is_in_store():
        store.delete(mark)
        return
    last, mark_here = _read_file(mark), folder / MARK
    if last is not None and mark_here.is_file() and mark_here.read_bytes() == last:
        fetch_files(request, folder, re.compile(JOB), beat)  # a person's words may have been erased from it
    elif store.keys(request.run_key):
        shutil.rmtree(folder, ignore_errors=True)
        fetch_files(request, folder, CONTINUED, beat)
    folder.mkdir(parents=True, exist_ok=True)
    mark_here.write_text(owner)
    store.publish(mark, owner.encode())


def delete(request: Request) -> None:
    """Delete the folder here and in the store."""
    store.delete_folder(request.run_key)
    shutil.rmtree(get_folder(request), ignore_errors=True)


def fetch_files(request: Request, folder: Path, wanted: re.Pattern[str], beat: Beat) -> None:
    """Copy the files with such names from the store; `beat` is called after each."""
    for key in store.keys(request.run_key):
        name = key.removeprefix(f"{request.run_key}/")
        if wanted.fullmatch(name):
            store.fetch(key, folder / name)
            beat()


def _read_file(key: str) -> bytes | None:
    if store.size(key) is None:
        return None
    with store.open(key) as file:
        return file.read()


def rewrite(request: Request, swap: Callable[[str], str]) -> None:
    """Change texts in the files of a training that may quote people: the job in the store, the log here."""
    before = _read_file(f"{request.run_key}/{JOB}")
    after = _swap_text(before or b"", swap)
    if before is not None and after != before:
        store.publish(f"{request.run_key}/{JOB}", after)
    log = get_folder(request) / LOG  # changed in place, since a running training appends to it
    if log.is_file() and not log.is_symlink():
        before = log.read_bytes()
        if (after := _swap_text(before, swap)) != before:
            log.write_bytes(after)


def _swap_text(content: bytes, swap: Callable[[str], str]) -> bytes:
    return swap(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def delete_stale() -> None:
    """Delete this machine's folders of finished or deleted trainings; needed files are in the store."""
    if is_in_store() or not scratch.get_folder().is_dir():
        return
    for path in scratch.get_folder().iterdir():
        named = FOLDER.fullmatch(path.name)
        if named and path.name.removesuffix(".part") not in _find_folders_in_use(uuid.UUID(named[1])):
            shutil.rmtree(path, ignore_errors=True)


def _find_folders_in_use(experiment: uuid.UUID) -> set[str]:
    """Names of folders of requests that may continue."""
    requests = Request.objects.filter(experiment__public_id=experiment).select_related("experiment")
    live = requests.filter(status__in=(Request.Status.OPEN, Request.Status.FAILED))
    return {get_folder(request).name for request in live.exclude(experiment__status=Experiment.Status.CANCELLED)}
