"""Polls between winners of experiments, for tests: real small clips, and sentinels that must never be shown."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from tests.webapp import problem_rows, rows
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration
from webapp.problems.models import Problem
from webapp.votes import lifecycle, poll_ballot, poll_enrolment, single_polls
from webapp.votes.models import Evaluator, Pair, Poll
from webapp.votes.single_polls import Item

ARMS = ("ICPL", "OpenLoop", "Eureka")
FINAL_ANSWERS = {"ICPL": 5050, "OpenLoop": 5049}
METHODS = {"ICPL": "icpl", "OpenLoop": "open_loop", "Eureka": "eureka"}


def winner(arm: str, number: int = 1, task: str = "Ant", seed: int = rows.SEED) -> Clip:
    """The final clip of a finished experiment's winner."""
    experiment = Experiment.objects.create(
        name=f"sentinel_experiment {arm} {number}", task=task, method=METHODS[arm], seed=seed, status="finished"
    )
    candidate = Candidate.objects.create(
        iteration=Iteration.objects.create(experiment=experiment, number=3),
        index=2,
        source=rows.SOURCE,
        status="trained",
        rts=rows.RTS,
        final_score=rows.FINAL_SCORE,
    )
    Experiment.objects.filter(pk=experiment.pk).update(winner=candidate)
    clip = Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY)
    rows.write_clip(clip, 60 * ARMS.index(arm) + 9)
    return clip


def poll(pairs: int = 1, opened: bool = True, **values: object) -> Poll:
    """Pairs ICPL-OpenLoop, OpenLoop-Eureka, ICPL-Eureka: as many of them as asked for."""
    made = Poll.objects.create(
        **{
            "title": "Which robot walks better",
            "question": "Which robot walks better?",
            "instructions": "Look at how steadily it walks.",
            "consent_text": "You may stop at any time.",
            "contact": "Dr. Ada Example, ada@example.org",
            "evaluators_wanted": 20,
            "hypothesis": "sentinel_hypothesis: people prefer ICPL.",
            **values,
        }
    )
    clips = {arm: winner(arm) for arm in ARMS[: min(3, pairs + 1)]}
    for number, (first, second) in enumerate(((0, 1), (1, 2), (0, 2))[:pairs], 1):
        one, other = ARMS[first], ARMS[second]
        Pair.objects.create(
            poll=made, position=number, first=clips[one], second=clips[other], first_arm=one, second_arm=other
        )
    if opened:
        assert lifecycle.open_poll(made) == []
        made.refresh_from_db()
    return made


def poll_of_equal_arms(*pairs: dict[str, object], names: tuple[str, ...] = (), **values: object) -> Poll:
    """A draft of pairs that are all ICPL against OpenLoop; `pairs` are the arguments of their winners."""
    made = poll(0, opened=False, **values)
    for place, arguments in enumerate(pairs):
        clips = [winner(arm, **arguments) for arm in ("ICPL", "OpenLoop")]
        name = names[place] if place < len(names) else ""
        Pair.objects.create(
            poll=made, first=clips[0], second=clips[1], first_arm="ICPL", second_arm="OpenLoop", name=name
        )
    return made


def add_check(of: Poll, purpose: str = "gold", **values: object) -> Pair:
    """An attention check: ICPL's clip is the better one, or both are the same."""
    first = winner("ICPL", 7)
    second = first if purpose == "same" else winner("OpenLoop", 8)
    return Pair.objects.create(poll=of, purpose=purpose, first=first, second=second, **values)


def answer_of(arm: str, source: str, task: str) -> Candidate:
    """The answer with which a finished experiment on a problem ended."""
    experiment = Experiment.objects.create(
        name=f"sentinel_experiment {arm}", task=task, method="scaling_3d", seed=rows.SEED, status="finished"
    )
    iteration = Iteration.objects.create(experiment=experiment, number=1)
    made = Candidate.objects.create(iteration=iteration, index=1, source=source, status="trained", rts=rows.RTS)
    Experiment.objects.filter(pk=experiment.pk).update(winner=made)
    return made


def poll_of_answers(first: Candidate, second: Candidate, **values: object) -> Poll:
    """A draft with one pair, written for people who read."""
    words = {"title": "Which is better", "question": "Which answer is better?", "instructions": "Is it right?"}
    made = poll(0, opened=False, **{**words, **values})
    Pair.objects.create(poll=made, first_answer=first, second_answer=second, first_arm="Turns", second_arm="Batch")
    return made


def films_to_rate(**values: object) -> Poll:
    """An open vote that rates two films of ICPL and one of OpenLoop, called film 0, 1 and 2."""
    arms = ("ICPL", "ICPL", "OpenLoop")
    items = [Item(arm, f"film {number}", winner(arm, number)) for number, arm in enumerate(arms)]
    return open_single(single_polls.draft_ratings("Do they?", items), **values)


def answers_to_grade(most_points: int = 7, **values: object) -> Poll:
    """An open vote that grades an answer of ICPL and one of OpenLoop."""
    problem = Problem.objects.filter(name="sum").first() or problem_rows.sum_problem()
    texts = {arm: f"## Final answer\n\n${end}$\n\n## Reasoning\n\nPairs." for arm, end in FINAL_ANSWERS.items()}
    items = [Item(arm, f"answer {arm}", answer_of(arm, text, problem.name)) for arm, text in texts.items()]
    return open_single(single_polls.draft_grades("How good?", items, most_points), **values)


def open_single(draft: Poll, **values: object) -> Poll:
    ready = {"contact": "Dr. Ada Example, ada@example.org", "consent_text": "You may stop at any time."}
    Poll.objects.filter(pk=draft.pk).update(**{**ready, "evaluators_wanted": 2, **values})
    draft.refresh_from_db()
    assert lifecycle.open_poll(draft) == []
    draft.refresh_from_db()
    return draft


def evaluator(of: Poll, consented: bool = True) -> Evaluator:
    [person] = poll_enrolment.invite_evaluators(of, 1)
    if consented:
        poll_enrolment.accept_consent(person)
        person.refresh_from_db()
    return person


def vote_for(person: Evaluator, arm: str, **answer: str) -> str:
    """Answer the current pair: for this arm where it is shown, else for the pair's first."""
    showing = poll_ballot.find_current_showing(person)
    first = arm != showing.pair.second_arm
    choice = "left" if first == showing.first_left else "right"
    return poll_ballot.cast_vote(person, showing.token, poll_ballot.Answer(**{"choice": choice, **answer}))


def answer(browser: Client, person: Evaluator, **fields: str):
    """Post an answer to the current pair, as the page's form would."""
    showing = poll_ballot.find_current_showing(person)
    data = {"showing": showing.token if showing else "", "choice": "left", **fields}
    return browser.post(reverse("evaluate_vote", args=[person.token]), data, follow=True)


def page(browser: Client, person: Evaluator) -> str:
    return browser.get(person.get_absolute_url()).content.decode()


def agree(browser: Client, of: Poll, address: str, **fields: str):
    return browser.post(address, {"hash": of.consent_hash, "agree": "yes", **fields}, follow=True)
