"""People whose server is killed while they vote, and who press Confirm again until it acknowledges."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import urllib.parse
import urllib.request
from http.client import HTTPException
from http.cookiejar import CookieJar
from urllib.error import HTTPError

from tests.webapp.servers import processes
from webapp.review.models import Screening, Vote
from webapp.studies.models import Participant

FIELD = re.compile(r'name="(csrfmiddlewaretoken|screening)" value="([^"]+)"')
SECONDS = 60
"""For one answer."""
MOMENT = 0.2
"""The site is killed within this many seconds after the first press of Confirm for a set of videos."""


class Voter:
    """A person at a browser, who always prefers B to A."""

    def __init__(self, person: Participant, port: int, rng: random.Random) -> None:
        self.person, self.port, self.rng = person, port, rng
        self.address = f"http://127.0.0.1:{port}{person.get_absolute_url()}"
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.form: dict[str, str] = {}
        """The form that is sent until it is acknowledged."""
        self.thanked: list[str] = []
        """The screenings for which the page after the vote came."""
        self.presses, self.kills = 0, 0
        self.refusals: list[str] = []

    @property
    def answered(self) -> bool:
        """Whether each vote was acknowledged: a site killed after it kept the last one has yet to come back."""
        return not self.form

    def act(self) -> None:
        """One look or one press; a site that is away is tried again at the next call."""
        try:
            if self.form:
                self.press()
            else:
                self.look()
        except HTTPError as error:
            self.refusals.append(f"{error.code} {error.url}")
        except (OSError, HTTPException):
            return

    def look(self) -> None:
        html = self.browser.open(self.address, timeout=SECONDS).read().decode()
        fields = dict(FIELD.findall(html))
        if 'id="ballot"' in html and fields["screening"] not in self.thanked:
            self.form = {**fields, "best": "B", "worst": "A"}
            threading.Timer(self.rng.uniform(0, MOMENT), self.kill_site).start()
            self.press()

    def press(self) -> None:
        self.presses += 1
        form = urllib.parse.urlencode(self.form).encode()
        self.browser.open(f"{self.address}vote/", form, timeout=SECONDS).read()
        self.thanked.append(self.form["screening"])
        self.form = {}

    def kill_site(self) -> None:
        for pid, (_, command) in processes().items():
            if "webapp.web_server" in command and f"--port {self.port} " in command:
                with contextlib.suppress(ProcessLookupError):  # another part of the test killed it
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1

    def lost(self) -> list[str]:
        """Screenings whose vote was acknowledged and is not stored exactly once as cast."""
        return [token for token in self.thanked if not kept(Screening.objects.get(token=token))]


def kept(screening: Screening) -> bool:
    worst, best = screening.order[:2]
    votes = Vote.objects.filter(screening=screening, undone_at=None)
    asked_for_worst = screening.request.kind == "Judge"
    return [(v.best_id, v.worst_id) for v in votes] == [(best, worst if asked_for_worst else None)]
