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

counts = {"review": 22, "broken": 1, "waiting": 2, "consent": 1, "instruction": 1, "final": 1, "thanks": 1}
for state, count in counts.items():
    out[state] = [person(state, number) for number in range(count)]
"""
STATES = ("consent", "instruction", "waiting", "review", "final", "thanks")
SHORTEN = """() => document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  detail.serverResponse = detail.serverResponse.replace(/data-seconds="[0-9.]+"/, 'data-seconds="20"');
})"""
"""A countdown as on a usual site: here it lasts ten minutes."""
TELL_SOON = """() => document.body.addEventListener("htmx:afterRequest", ({ detail }) => {
  const tell = () => state.dispatchEvent(new CustomEvent("htmx:wsBeforeMessage", { cancelable: true }));
  if (detail.requestConfig.elt.matches("form")) setTimeout(tell, 100);
})"""
"""The site's message comes 0.1 s after the answer to a vote, however busy this machine is."""
LENGTHEN = """() => {
  const walker = document.createTreeWalker(document.querySelector('.dock'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, length = Math.ceil(node.data.trim().length * 0.4);
    if (length) node.data = node.data.trim() + 'm'.repeat(length);
  }
}"""
"""Words 40% longer, and their last one too long to fit beside others."""
DOCK = """() => {
  const box = document.querySelector('.dock').getBoundingClientRect(), reason = document.querySelector('#reason');
  const said = reason.getBoundingClientRect();
  return {share: box.height / innerHeight, cut: reason.scrollWidth > reason.clientWidth || said.bottom > box.bottom + 1,
          below: box.bottom > innerHeight + 1, wide: document.documentElement.scrollWidth > innerWidth};
}"""
ASKED = """
from tests.webapp import questionnaire_rows
person = rows.participant(rows.study(title="Asked", k=3), label="Q1")
made = questionnaire_rows.questionnaire(person.study)
job = questionnaire_rows.item(made, "job", "single", options="Student\\nResearcher", other_label="Other")
since = {"shown_when": job, "shown_codes": [3], "required": False}
questionnaire_rows.item(made, "since", "number", **since)
out["address"], out["study"] = person.get_absolute_url(), person.study_id
"""
ANSWERED = """
from webapp.studies.models import Answer
values = Answer.objects.filter(item__questionnaire__study=STUDY).values_list("item__variable", "value")
out["values"] = dict(values)
"""


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
