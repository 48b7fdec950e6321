"""The Celery task of exports and imports."""

from collections.abc import Callable

from celery import shared_task

from webapp.archive import experiment_export, export, importer, work
from webapp.archive.models import Export
from webapp.base import logs, processes


@shared_task(name="prefine.archive", ignore_result=True)
def archive(kind: str, pk: int) -> None:
    with processes.begin_work() as allowed, logs.note_context(job=f"{kind}-{pk}"):
        if allowed:
            carry_out_task(kind, pk)


def carry_out_task(kind: str, pk: int) -> bool:
    """Carry out the export or import with this key. False where another worker has it, or it was deleted."""
    task = work.KINDS[kind]._default_manager.filter(pk=pk).first()
    return task is not None and work.run_task(task, _find_job(task))


def _find_job(task: work.Task) -> Callable[[work.Task, work.Work], None]:
    if isinstance(task, Export):
        return export.run_export if task.study_id else experiment_export.run_export
    return importer.run_import
