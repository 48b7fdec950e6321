"""Celery tasks."""

from celery import shared_task

from webapp.base import processes
from webapp.experiments import execute


@shared_task(name="prefine.run_job", ignore_result=True)
def run_job(job_id: int) -> None:
    with processes.begin_work() as allowed:
        if allowed:
            execute.run_job(job_id)
