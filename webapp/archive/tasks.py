"""What a message makes a worker do."""

from celery import shared_task

from webapp.archive import export, restore, work

CARRY_OUT = {"export": export.carry_out, "import": restore.carry_out}


@shared_task(name="prefine.archive", ignore_result=True)
def archive(kind: str, pk: int) -> None:
    do(kind, pk)


def do(kind: str, pk: int) -> bool:
    """Carry out the export or import with this key. False where another worker has it, or it was deleted."""
    task = work.KINDS[kind]._default_manager.filter(pk=pk).first()
    return task is not None and work.run(task, CARRY_OUT[kind])
