"""What `./prefine doctor` finds on the machine of the site, on the page of the workers. Administrators only."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from webapp.base.http import HtmxHttpRequest

SECONDS = 60
ALONE = threading.Lock()
"""One doctor at a time in this process: each takes a thread of staff's pages."""
log = logging.getLogger(__name__)
LOOKS = {"ok": "done", "warn": "waiting", "fail": "failed"}
"""State of a finding -> the class of its pill."""


@dataclass(frozen=True)
class Finding:
    about: str
    state: str
    text: str
    advice: str

    @property
    def look(self) -> str:
        return LOOKS[self.state]


@require_POST
def examine(request: HtmxHttpRequest) -> HttpResponse:
    if not request.user.is_superuser:
        raise PermissionDenied
    context: dict[str, object] = {}
    if not ALONE.acquire(blocking=False):
        context["error"] = "It is looking already, for somebody else or in another tab. Try again in a minute."
    else:
        try:
            found = run_doctor()
            context["findings"] = sorted(found, key=lambda one: list(reversed(LOOKS)).index(one.state))
        except (subprocess.SubprocessError, ValueError, TypeError, OSError) as error:
            log.warning("The doctor broke off: %s", error)
            words = f"./prefine doctor broke off: {type(error).__name__}. Call it on the machine of the site."
            context["error"] = words
        finally:
            ALONE.release()
    return render(request, f"bench/workers/{'_findings' if request.htmx else 'checked'}.html", context)


def run_doctor() -> list[Finding]:
    """In a process apart: it renders a frame, and locks itself up to see whether generated code can be."""
    command = [sys.executable, "manage.py", "doctor", "--json"]
    done = subprocess.run(
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:  # a fault that it finds is a line, and no exit status
        raise ValueError(done.stderr[-2000:])
    return [Finding(**json.loads(line)) for line in lines]
