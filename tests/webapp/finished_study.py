"""A study after people took part, with everything that an export may and may not hold."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.apps import apps
from django.db.models import Model
from django.test import override_settings
from django.utils import timezone

from tests.webapp import bench_rows, fake_workers, questionnaire_rows, rows
from tests.webapp.saved_rows import put_back
from webapp.archive import retention
from webapp.audit import record
from webapp.experiments import loop
from webapp.experiments.models import Clip, Experiment, Job, LanguageModel, ModelCall, PromptSet, Request, Run
from webapp.review import ballot, tags
from webapp.review.models import ClipTicket, GoldSet, Trial, TrialPlan, Viewing, Vote
from webapp.review.screenings import LETTERS, find_screening, make_tiles
from webapp.studies import enrolment
from webapp.studies.models import Answer, CompletionCode, Participant, Question, Recruit, Response, Study, new_token
from webapp.votes import lifecycle
from webapp.votes import poll_ballot as pair_ballot
from webapp.votes import poll_enrolment as evaluators
from webapp.votes.models import Evaluator, Pair, Poll

KEY, CODE = "sk-secret-key-of-the-model", "CODE-WORTH-MONEY"
REASON = "=1+1 “sentinel reason”, it limps on its left leg"
OTHER_REASON = "the second sentinel reason of somebody else"
EXPERIMENTER = "ada-the-experimenter"
EXTERNAL, VOTER = "sentinel_external_id", "sentinel_voter_id"


@dataclass(frozen=True)
class FinishedStudy:
    study: Study
    first: Participant
    second: Participant
    poll: Poll

    @property
    def people(self) -> list[Participant]:
        return [self.first, self.second]

    def fetch(self) -> FinishedStudy:
        """The same with all that the rows hold now."""
        first, second = (Participant.objects.get(pk=person.pk) for person in self.people)
        return FinishedStudy(Study.objects.get(pk=self.study.pk), first, second, Poll.objects.get(pk=self.poll.pk))


def create_finished_study(panel: int = 1) -> FinishedStudy:
    """Two people who finished (in one experiment where the panel has two), one who left, one who never came."""
    model = LanguageModel.objects.create(
        name="Writer", kind="openai", base_url="http://secret.example/v1", model="writer-1", api_key=KEY
    )
    words = PromptSet.objects.create(name="Paper", texts={"reason": "They say: $reason"}, added_by=EXPERIMENTER)
    plan = {"task": "Cartpole", "k": 3, "n": 2, "panel": panel, "model": model, "prompt_set": words}
    study = rows.study(**plan, description="A pilot.", practice=False)
    Question.objects.create(study=study, text="What do you do?", answers="Watch\nSing", correct=1)
    CompletionCode.objects.create(study=study, code=CODE)
    TrialPlan.objects.create(study=study, attention=1)
    first, second = add_participant(study, "Person-A", EXTERNAL), add_participant(study, "Person-B")
    take_part({first: REASON, second: OTHER_REASON})
    answer_questionnaire({first: REASON, second: OTHER_REASON})
    add_participant(study, "Person-D", consents=False)
    if panel == 1:
        gone = add_participant(study, "Person-C")
        enrolment.withdraw(gone)
    add_trial(first)
    poll = add_closed_poll(first)
    Job.objects.filter(status="queued").update(status="done")
    record(EXPERIMENTER, "looked at", study, label="Person-A")
    study.refresh_from_db()
    return FinishedStudy(study, first, second, poll)


def copy_finished_study(panel: int = 1) -> FinishedStudy:
    """What create_finished_study makes, in an empty installation: made once in this process, then put back."""
    return put_back(create_finished_study, panel).fetch()


def add_participant(study: Study, label: str, external_id: str = "", consents: bool = True) -> Participant:
    person = Participant.objects.create(study=study, label=label, timezone="Europe/Sentinel")
    if external_id:
        Recruit.objects.create(
            study=study, participant=person, external_id=external_id, parameters={"PROLIFIC_PID": external_id}
        )
    if consents:
        assert enrolment.accept_consent(person) == ""
        person.refresh_from_db()
    return person


def take_part(reasons: dict[Participant, str]) -> None:
    """They wait, watch and pick until every experiment of theirs has a winner."""
    for experiment in {person.experiment for person in reasons}:
        mine = {person: reason for person, reason in reasons.items() if person.experiment == experiment}
        while True:
            experiment.refresh_from_db()
            fake_workers.do_work(experiment)
            ModelCall.objects.filter(request__experiment=experiment).delete()
            Run.objects.filter(request__experiment=experiment).delete()
            bench_rows.add_worker_results(experiment)
            request = loop.find_waiting_request(experiment)
            if request is None:
                break
            for person, reason in mine.items():
                cast_pick(person, request, reason)
            Vote.objects.filter(request=request).update(created_at=timezone.now() - timedelta(minutes=5))
            ballot.lock_due_votes()
    enrolment.finish_due()


def cast_pick(person: Participant, request: Request, reason: str) -> None:
    screening = find_screening(request, person)
    make_tiles(screening)
    Viewing.objects.create(screening=screening, sitting="0123456789abcdef", data={"plays": 3})
    worst = LETTERS[len(screening.order) - 1]
    choice = ballot.Choice("A", worst, reason=reason, tags=(tags.KNOWN[0],), client={"decide_ms": 4000})
    assert ballot.cast_vote(person, screening.token, choice).vote


def answer_questionnaire(texts: dict[Participant, str]) -> None:
    """They answer an item of every kind after the first round of their experiment."""
    study = next(iter(texts)).study
    made = questionnaire_rows.every_kind(study, placement="rounds", arms=[study.arms.get().pk])
    values = {"age": 31, "job": 3, "job_text": "Pilot", "seen": [1, 3], "trust": 4, "calm": {"1": 2, "2": 5}}
    for person, text in texts.items():
        response = Response.objects.create(
            questionnaire=made, participant=person, experiment=person.experiment, round=1, sent_at=timezone.now(),
            order=["age", "job"],
        )  # fmt: skip
        for item in made.items.exclude(kind="section"):
            Answer.objects.create(response=response, item=item, value=values.get(item.variable, text))


def add_trial(person: Participant) -> None:
    """A trial between two rounds, and a gold set."""
    screening = person.screenings.first()
    best, worst = screening.order[:2]
    GoldSet.objects.create(study=person.study, best_id=best, worst_id=worst)
    trial = Trial.objects.create(
        participant=person,
        kind="repeated",
        number=1,
        round=1,
        repeats=screening,
        seed=17,
        order=screening.order[::-1],
        expected_best_id=best,
        best_id=best,
        worst_id=worst,
    )
    Viewing.objects.create(trial=trial, sitting="fedcba9876543210", data={"plays": 1})


def add_closed_poll(person: Participant) -> Poll:
    """A closed A/B vote between the person's winner and a baseline's."""
    baseline = bench_rows.create_finished_experiment(name="baseline", task="Cartpole", seed=5)
    clips = []
    for experiment in (person.experiment, baseline):
        experiment.refresh_from_db()
        clips.append(Clip.objects.get(candidate=experiment.winner, percent=100))
    poll = Poll.objects.create(
        title="Which is calmer", instructions="Look.", consent_text="You may stop.", contact="ada@example.org",
        evaluators_wanted=3, completion_code=CODE, recruiting=True,
    )  # fmt: skip
    Pair.objects.create(poll=poll, position=1, first=clips[0], second=clips[1], first_arm="ICPL", second_arm="Base")
    assert lifecycle.open_poll(poll) == []
    for number in range(3):
        evaluator = evaluators.enrol(poll, evaluators.Arrival(f"{VOTER}{number}", [new_token()]))
        evaluators.accept_consent(evaluator)
        showing = pair_ballot.find_current_showing(Evaluator.objects.get(pk=evaluator.pk))
        assert pair_ballot.cast_vote(evaluator, showing.token, pair_ballot.Answer("left")) == ""
    with override_settings(UNDO_SECONDS=0):
        lifecycle.close_full_polls()
    Poll.objects.filter(pk=poll.pk).update(recruiting=False)  # no import recruits, which its page says
    lifecycle.unblind_poll(poll, EXPERIMENTER)
    poll.refresh_from_db()
    assert poll.status == "closed"
    return poll


def move_into_past(days: int) -> None:
    """Move everything that people did this many days into the past."""
    then = timezone.now() - timedelta(days=days)
    Study.objects.exclude(closed_at=None).update(closed_at=then)
    Vote.objects.update(created_at=then)
    Trial.objects.update(answered_at=then)
    Participant.objects.update(**dict.fromkeys(retention.STEPS, then))


def secrets_of(study: Study) -> set[str]:
    """Texts that no export may contain."""
    people = Participant.objects.filter(study=study)
    tokens = {person.token for person in people} | {
        KEY,
        CODE,
        EXTERNAL,
        VOTER,
        study.contact,
        study.open_link,
        "secret.example",
    }
    tokens |= {"Europe/Sentinel", EXPERIMENTER}
    tokens |= set(ClipTicket.objects.filter(participant__in=people).values_list("token", flat=True))
    for kind, names in ((Evaluator, ["token"]), (Poll, ["recruitment_token"])):
        tokens |= {token for row in kind.objects.values_list(*names) for token in row}
    for person in people:
        tokens |= set(person.screenings.values_list("token", flat=True)) | set(
            person.trials.values_list("token", flat=True)
        )
    return tokens


def experiments_of(study: Study) -> list[Experiment]:
    return list(Experiment.objects.filter(assignments__participant__study=study).distinct().order_by("pk"))


def list_own_models() -> list[type[Model]]:
    """Every model of Prefine, in the order of the apps."""
    own = (config for config in apps.get_app_configs() if config.name.startswith("webapp."))
    return [model for config in own for model in config.get_models()]


def empty_database() -> None:
    """Delete all rows of Prefine's own models, as in another installation; users stay."""
    for model in reversed(list_own_models()):
        every = model._base_manager.all()
        every._raw_delete(every.db)  # without signals: files stay, and no row of the audit log tells of it


def dump_database(without: Collection[str] = ()) -> str:
    """Every row of every table as text."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        if model._meta.label not in without:
            found += [
                json.dumps([model._meta.label, row], default=str, ensure_ascii=False)
                for row in model._base_manager.values()
            ]
    return "\n".join(found)
