"""Participants in every state for tests in a browser, and what such tests ask of a page."""

import re

from playwright.sync_api import expect

PEOPLE = """
from pathlib import Path
from django.conf import settings
from webapp.experiments.models import Clip
from webapp.studies.models import Participant
study = rows.study()

def person(state, number):
    someone = rows.participant(study, label=f"{state} {number}")
    of = {"pk": someone.pk}
    rows.create_round(someone, percent=30 if state == "waiting" else 100)
    if state == "consent":
        Participant.objects.filter(pk=someone.pk).update(consented_at=None)
    if state == "instruction":
        Participant.objects.filter(pk=someone.pk).update(instructed_at=None)
    if state == "waiting":
        rows.open_training(someone)
    if state in ("review", "broken"):
        rows.open_judgement(someone)
    if state == "broken":
        clip = Clip.objects.get(candidate__index=4, candidate__iteration__experiment=someone.experiment)
        video = settings.DATA_DIR / "media" / clip.video
        video.rename(video.with_suffix(".good"))
        video.write_bytes(b"not a video")
        of["clip"] = str(video)
    if state == "final":
        rows.create_round(someone, 2)
        rows.open_final_choice(someone)
    if state == "thanks":
        rows.finish_experiment(someone)
    return of | {"address": someone.get_absolute_url()}

counts = {"review": 20, "broken": 1, "waiting": 2, "consent": 1, "instruction": 1, "final": 1, "thanks": 1}
for state, count in counts.items():
    out[state] = [person(state, number) for number in range(count)]
"""
STATES = ("consent", "instruction", "waiting", "review", "final", "thanks")


def grave(said):
    """htmx also calls it an error that a request was given up for a newer page."""
    return said.type == "error" and not re.match("htmx:(sendAbort|afterRequest)", said.text)


def confirmable(page):
    """Every video was watched for long enough, and a choice was made."""
    expect(page.get_by_role("button", name="Confirm")).to_be_enabled()


def standing(site, pk):
    return site.python(
        "from webapp.review.models import Vote\n"
        f"votes = Vote.objects.filter(screening__participant={pk}, undone_at=None)\n"
        "letters = lambda vote: ['ABCDEF'[vote.screening.order.index(pk)] for pk in (vote.best_id, vote.worst_id)]\n"
        "out['votes'] = [letters(vote) + [vote.client] for vote in votes]"
    )["votes"]
