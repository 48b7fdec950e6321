"""The Celery task of exports and imports."""

from celery import shared_task

from webapp.archive import export, restore, work
from webapp.base import logs, processes

RUNNERS = {"export": export.run_export, "import": restore.run_import}


@shared_task(name="prefine.archive", ignore_result=True)
def archive(kind: str, pk: int) -> None:
    with processes.work() as allowed, logs.about(job=f"{kind}-{pk}"):
        if allowed:
            carry_out_task(kind, pk)


def carry_out_task(kind: str, pk: int) -> bool:
    """Carry out the export or import with this key. False where another worker has it, or it was deleted."""
    task = work.KINDS[kind]._default_manager.filter(pk=pk).first()
    return task is not None and work.run_task(task, RUNNERS[kind])
