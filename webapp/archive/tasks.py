"""What a message makes a worker do."""

from celery import shared_task

from webapp.archive import work


@shared_task(name="prefine.archive", ignore_result=True)
def archive(kind: str, pk: int) -> None:
    work.do(kind, pk)
