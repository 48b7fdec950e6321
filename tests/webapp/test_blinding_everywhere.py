"""One walk through everything that a participant's browser can be sent, searched for what must not reach it.

Pages in every state, all headers, what the pages' own addresses answer (clips and stills with their file names,
attachments, the live address) and websocket messages. A template that no step of the walk shows fails the test.
"""

import html
import json
import re
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from tests.webapp import problem_rows, questionnaire_rows, rows
from tests.webapp.blinding import FORBIDDEN_WORDS, Recorder, leaks, number_from, walk, whole
from webapp.experiments import events
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Request
from webapp.problems.models import Attachment
from webapp.review import ballot
from webapp.review.models import Screening, Trial, Vote
from webapp.review.screenings import find_screening
from webapp.studies import assigning, comprehension, enrolment
from webapp.studies.models import CompletionCode, Participant, Question, Study

pytestmark = pytest.mark.slow

TEMPLATES = Path(settings.BASE_DIR) / "templates"
PAGES = {f"studio/states/{path.name}" for path in (TEMPLATES / "studio" / "states").glob("*.html")}
PAGES |= {f"studio/{path.name}" for path in (TEMPLATES / "studio").glob("*.html")} - {
    "studio/preview.html"
}  # for staff
PAGES |= {"studio/notices/stop.html", "404.html", "403_csrf.html"}
ADDRESSES = re.compile(r'(?:href|src|poster|hx-get|data-src)="(/(?:s|clip)/[^"#]+)"')
KINDS = ("written", "clip", "trained", "judge", "picked", "described", "failed", "finished")


class Crawler(Recorder):
    """A recorder that also notes which templates were shown, and asks for every address that a page names."""

    def __init__(self):
        super().__init__()
        self.shown: set[str] = set()
        self.asked: set[str] = set()

    def request(self, **request):
        response = super().request(**request)
        if response.streaming:
            response.close()
        self.shown |= {template.name for template in response.templates}
        return response

    def get(self, path, *args, **more):
        response = super().get(path, *args, **more)
        for named in [] if response.streaming else ADDRESSES.findall(response.content.decode()):
            if named not in self.asked:
                self.asked.add(named)
                for headers in ({}, {"Range": "bytes=0-99"}, {"Range": "bytes=99999999-"}):
                    super().get(html.unescape(named), headers=headers)
        return response

    def see(self, address, **more):
        return self.get(address, **more).content.decode()


@pytest.fixture
def numbered_rows(transactional_db):
    """Ids far from the small numbers that a page may rightly show."""
    rows.create_round(rows.participant(label="P99"))
    for number, table in enumerate((Candidate, Clip, Request, Experiment, Iteration), 7):
        table.objects.all().delete()
        number_from(table, 100_001 * number)


def practised(browser, person):
    assert "Practice" in browser.see(person.get_absolute_url())
    practise = reverse("practice", args=[person.token])
    browser.post(practise, {"best": "A", "worst": "A"}, follow=True)
    browser.post(practise, {"best": "A", "worst": "B"}, follow=True)
    browser.post(practise, {"then": "on"}, follow=True)


def before_the_first_round(browser):
    """The practice trial, the check, passed and not passed, the debriefing."""
    study = rows.study(practice=True, debriefing="It was about how people judge.", most_attempts=1)
    Question.objects.create(study=study, text="May you leave?", answers="Yes\nNo", correct=1, explanation="Always.")
    CompletionCode.objects.create(study=study, outcome="finished", code="DONE-11")
    for label, answer in (("P11", "0"), ("P12", "1")):
        person = rows.participant(study, label=label)
        rows.create_round(person)
        rows.open_judgement(person)
        practised(browser, person)
        assert "Is it clear?" in browser.see(person.get_absolute_url())
        asked = Question.objects.get()
        fields = {"attempt": 0, "version": comprehension.hash_questions([asked]), f"question-{asked.pk}": answer}
        browser.post(reverse("check", args=[person.token]), fields, follow=True)
    passed = rows.participant(study, label="P13")
    rows.create_round(passed)
    rows.finish_experiment(passed)
    assert "how people judge" in browser.see(passed.get_absolute_url())
    browser.post(reverse("debriefed", args=[passed.token]), follow=True)


def in_a_panel(browser):
    study = rows.study(panel=2, task="Cartpole", k=3, n=1)
    people = [Participant.objects.create(study=study, label=f"P2{number}") for number in (1, 2)]
    for person in people:
        assert enrolment.accept_consent(person) == ""
        enrolment.mark_instructed(person)
        browser.see(person.get_absolute_url())
    first = people[0]
    rows.create_round(first)
    screening = find_screening(rows.open_judgement(first), first)
    ballot.cast_vote(first, screening.token, ballot.Choice(best="A", worst="B"))
    Vote.objects.update(created_at=timezone.now() - timezone.timedelta(minutes=1))
    ballot.lock_due_votes()
    assert "still choosing" in browser.see(first.get_absolute_url())


def between_two_experiments(browser, monkeypatch):
    person = rows.participant(rows.study(), label="P31")
    person.assignments.update(experiment=None)
    with monkeypatch.context() as patch:
        patch.setattr(assigning, "begin_due", lambda people=None: 0)  # another process is about to begin it
        assert "Not your turn" in browser.see(person.get_absolute_url())


def a_trial(browser):
    person = rows.participant(rows.study(), label="P41")
    rows.create_round(person)
    screening = find_screening(rows.open_judgement(person), person)
    best, worst = screening.order[:2]
    drawn = {"round": 1, "seed": rows.SEED, "order": screening.order}
    expected = {"expected_best_id": best, "expected_worst_id": worst}
    trial = Trial.objects.create(participant=person, kind="attention", number=0, **drawn, **expected)
    assert trial.token in browser.see(person.get_absolute_url())
    fields = {"screening": trial.token, "best": "C", "worst": "A"}
    browser.post(reverse("vote", args=[person.token]), fields, follow=True)
    browser.post(
        reverse("viewing", args=[person.token]), {"screening": screening.token, "sitting": "1", "client": "{}"}
    )


def a_questionnaire(browser):
    person = rows.participant(rows.study(), label="P43")
    questionnaire_rows.every_kind(person.study)
    assert "What about trust?" in browser.see(person.get_absolute_url())


def answers_to_a_problem(browser):
    problem = problem_rows.add_problem()
    row = Attachment(problem=problem, name="data.txt")
    row.file.save("data.txt", ContentFile(b"1 2 3"))
    cases = [{"subtask": 1, "number": 1, "verdict": "ok", "said": ""}]
    subtasks = [{"number": 1, "points": 30, "earned": 30}]
    tried = [{"subtasks": subtasks, "cases": cases, "points": 77.31415}, {"subtasks": [], "cases": []}]
    address = problem_rows.open_judgement(problem, [problem_rows.GOOD, problem_rows.BROKEN], tried)
    person = Participant.objects.get(token=address.split("/")[2])
    Participant.objects.filter(pk=person.pk).update(instructed_at=None)
    Study.objects.filter(pk=person.study_id).update(practice=True)
    browser.see(address)
    browser.post(reverse("ready", args=[person.token]), follow=True)
    practised(browser, person)
    assert "Round 1" in browser.see(address)
    screening = Screening.objects.get(participant=person)
    browser.post(reverse("vote", args=[person.token]), {"screening": screening.token, "best": "A", "worst": "B"})
    browser.see(address)
    Request.objects.filter(experiment=person.experiment).update(status="done")
    Experiment.objects.filter(pk=person.experiment.pk).update(status="running")
    browser.see(address)
    rows.finish_experiment(person)
    assert "answer" in browser.see(address)


def pairs_of_segments(browser):
    person = rows.participant(rows.study(task="Cartpole", method="prefppo", k=1, n=1), label="P71")
    rows.open_pairs(person)
    browser.see(person.get_absolute_url())


def doors(browser):
    """The open link, a foreign one, deletion, and what goes wrong."""
    study = rows.study(recruiting=True)
    link = reverse("take", args=[study.open_link])
    browser.see(link)
    browser.see(link, data={"STUDY_ID": "s"})
    browser.post(link, {"hash": study.consent_hash, "agree": "yes"}, follow=True)
    joined = Participant.objects.get(study=study)
    rows.create_round(joined)
    leave = reverse("leave", args=[joined.token])
    browser.see(leave)
    browser.post(leave, {"erase": "yes"})
    late = rows.participant(rows.study(status="closed"), consented=False, label="P52")
    assert "closed" in browser.see(late.get_absolute_url())
    browser.get(reverse("stop_notices", args=["foreign"]))
    browser.get("/nothing/is/here/")
    strict = Crawler()
    strict.handler.enforce_csrf_checks = True
    strict.post(reverse("vote", args=[rows.participant(rows.study(), label="P51").token]), {})
    browser.received += strict.received
    browser.shown |= strict.shown


def secrets_of_all():
    """Everything that must not be received, by what it is."""
    candidates, clips = list(Candidate.objects.all()), list(Clip.objects.all())
    tables = (Candidate, Clip, Request, Experiment, Iteration)
    seeds = [shown.seed for table in (Screening, Trial) for shown in table.objects.all()]
    return {
        "candidate key": [whole(key, r"[\w.-]") for key in {c.key for c in candidates}],
        "primary key": [whole(str(pk)) for table in tables for pk in table.objects.values_list("pk", flat=True)],
        "score": [
            re.escape(str(value)[:6]) for c in candidates for value in (c.rts, c.final_score) if value is not None
        ],
        "clip file": [part for clip in clips for part in (str(clip.name), clip.name.hex)],
        "seed": [str(seed) for seed in (*seeds, *Experiment.objects.values_list("seed", flat=True))],
        "experiment": [str(name) for name in Experiment.objects.values_list("public_id", flat=True)],
        "source": ["sentinel_source", "compute_reward"],
        "reason of failure": [whole("NaN")],
        "samples": [whole("123457")],  # not within a hash
    }


async def heard(person):
    """What an open page is told while an experiment goes through all that is told to anybody."""
    from webapp.asgi import application  # builds the middleware: not before the folders are set

    scope = {"type": "websocket", "path": f"/ws/s/{person.token}/", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    messages = [await socket.receive_output(timeout=60)]
    experiment = await sync_to_async(lambda: person.experiment)()
    for kind in KINDS:
        said = f"1-2 reached {rows.RTS}: {rows.SOURCE}"
        await sync_to_async(events.emit)(experiment, kind, said, payload={"candidate": "1-2"}, public=True)
        messages.append(await socket.receive_output(timeout=60))
    await socket.send_input({"type": "websocket.receive", "text": json.dumps({"type": "ping"})})
    messages.append(await socket.receive_output(timeout=60))
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(timeout=60)
    return messages


def test_nothing_that_is_sent_tells_what_made_a_clip(numbered_rows, monkeypatch):
    browser = Crawler()
    person = rows.participant(rows.study(n=2, method="icpl"))
    walk(browser, person)
    before_the_first_round(browser)
    in_a_panel(browser)
    between_two_experiments(browser, monkeypatch)
    a_trial(browser)
    a_questionnaire(browser)
    pairs_of_segments(browser)
    answers_to_a_problem(browser)
    doors(browser)
    told = async_to_sync(heard)(rows.participant(rows.study(), label="P61"))
    assert browser.shown >= PAGES, f"no step of the walk shows {sorted(PAGES - browser.shown)}"
    of_clips = [text for address, text in browser.received if address.startswith("/clip/")]
    assert len(of_clips) > 60 and not any("Last-Modified" in text or "Content-Disposition" in text for text in of_clips)
    received = browser.received + [("websocket", json.dumps(message, default=repr)) for message in told]
    assert len(told) == len(KINDS) + 2 and len(received) > 200
    secrets = secrets_of_all()
    assert leaks(received, secrets) == []
    first = Candidate.objects.exclude(rts=None).first()
    for planted in (first.pk, first.key, first.rts, Clip.objects.first().name, rows.SEED, rows.SOURCE):
        assert leaks([("/", f"<p>{planted}</p>")], secrets), planted
    for where, text in browser.received:
        body = text.partition("}\n")[2]
        visible = re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", " ", body, flags=re.S))
        attributes = " ".join(re.findall(r'(?:aria-label|alt|title|content|value|data-\w+)="([^"]*)"', body))
        assert not re.findall(FORBIDDEN_WORDS, f"{visible} {attributes}", flags=re.I), where
