"""The people of a fixture, each at another page, in studies and in A/B votes. Part of fill.py."""

from __future__ import annotations

from typing import Any

from site_steps import Visitor, browser, go_to, rows, staff, without_undo_time, work

CONSENT = "You watch short films of a simulated cart and say which you like best.\n\nYou may stop at any time."
ETHICS = {"ethics_protocol": "2026-17", "ethics_expires_on": "2999-12-31", "contact": "ada@example.org"}
WORDS = {"consent_text": CONSENT, "instructions": "Watch all of them.", "debriefing": "It was about poles."}
CODES = {"finished": "CODE-DONE", "withdrawn": "CODE-LEFT", "failed": "CODE-CHECK", "stopped": "CODE-STOP"}
QUESTION = {"text": "May you leave?", "answers": "At any time\nNever", "correct": 1, "explanation": "You may."}
TINY = {"iterations": 3}
ARM = {"task": "Cartpole", "k": 2, "n": 2}
RECRUIT = {"PROLIFIC_PID": "0123456789abcdef01234567", "STUDY_ID": "a-study", "SESSION_ID": "a-session"}

People = dict[str, Visitor]


def come() -> tuple[Any, dict[str, str]]:
    """Create all people. Returns the largest study, and the page that each personal link shows."""
    poles, people = study_of_poles()
    everybody = [*people.values(), *study_of_panels(), *study_of_answers(), demonstration()]
    draft = rows("studies.Study").create(title="A draft", **WORDS, **ETHICS)
    rows("studies.Arm").create(study=draft, name="A", **ARM)
    everybody += votes(people["P01"])
    return poles, {person.address: person.look() for person in everybody}


# --- what every study needs -----------------------------------------------------------------------------------


def study(title: str, arms: dict[str, dict[str, Any]], count: int, **values: Any) -> tuple[Any, People]:
    """An open study, and people with links to it, by their labels."""
    made = rows("studies.Study").create(title=title, **{**WORDS, **ETHICS, **values})
    for place, (name, plan) in enumerate(arms.items()):
        rows("studies.Arm").create(study=made, name=name, position=place, **{**ARM, **plan})
    for outcome, code in CODES.items():
        rows("studies.CompletionCode").create(study=made, outcome=outcome, code=code)
    rows("studies.Question").create(study=made, **QUESTION)
    staff("ada").post(f"/bench/studies/{made.pk}/status/", {"status": "open", "confirmed": ["writer", "address"]})
    staff("ada").post(f"/bench/studies/{made.pk}/invite/", {"count": count})
    made.refresh_from_db()
    assert made.status == "open", f"{title} was not opened"
    invited = rows("studies.Participant").filter(study=made)
    return made, {person.label: Visitor(f"/s/{person.token}/") for person in invited}


def experiment_of(person: Visitor) -> Any:
    return rows("studies.Assignment").get(participant__token=person.address.split("/")[2]).experiment


def begins(person: Visitor) -> None:
    """Consents; trainings are short from here on."""
    go_to(person, "consent")
    person.agree()
    rows("experiments.Experiment").filter(pk=experiment_of(person).pk).update(overrides=TINY)


def waits(person: Visitor, stop_before: tuple[str, int] | None = None) -> None:
    """Is through with what comes before the rounds, while workers go on so far."""
    begins(person)
    go_to(person, "waiting")
    work(experiment_of(person), stop_before)
    if stop_before is None:
        judges(person)


def judges(person: Visitor) -> None:
    """Is at a choice of the study, not at a trial."""
    while person.look() != "review" or in_a_trial(person):
        assert person.state == "review", f"nothing to choose from: {person.state}"
        person.choose()


def in_a_trial(person: Visitor) -> bool:
    return rows("review.Trial").filter(token=person.field("screening")).exists()


def chooses(person: Visitor, **said: Any) -> None:
    """Confirms a choice, and leaves it at that."""
    judges(person)
    assert person.choose(**said) == "picked", person.state


def decides(person: Visitor, **said: Any) -> None:
    """Confirms a choice for good."""
    chooses(person, **said)
    with without_undo_time():
        person.look()


def asked(person: Visitor) -> str:
    """The kind of the open judgement: Judge, Compare or Choose."""
    return rows("review.Screening").get(token=person.field("screening")).request.kind


# --- studies --------------------------------------------------------------------------------------------------


def study_of_poles() -> tuple[Any, People]:
    """Two arms, with a check, practice and trials, and a person at every page that may stay open for weeks."""
    arms = {"Words": {"method": "icpl", "k": 3}, "Ratings": {"method": "revolve_human", "options": {"islands": 1}}}
    made, people = study("Poles", arms, 18, practice=True, recruiting=True, seed=100, description="A pilot.")
    rows("review.TrialPlan").create(study=made, attention=1, gold=1, repeated=1)
    finishes(people["P01"])
    knows_the_best(made, people["P01"])
    for label, state in (("P03", "instruction"), ("P04", "practice"), ("P05", "check")):
        begins(people[label])
        go_to(people[label], state)
    people["P05"].answer_questions(right=False)
    waits(people["P06"], ("write", 1))
    waits(people["P07"], ("train", 1))
    waits(people["P08"])
    assert people["P08"].looked(plays=2) == 204
    waits(people["P09"])
    chooses(people["P09"], reason="It shakes least.", tags="best: moves smoothly")
    waits(people["P10"])
    chooses(people["P10"])
    people["P10"].send("undo", screening=people["P10"].field("screening"))
    waits(people["P11"])
    decides(people["P11"], reason="B is calm.")
    work(experiment_of(people["P11"]), ("train", 1))
    assert people["P11"].look() == "review" and in_a_trial(people["P11"])
    assert {to_another_choice(people["P12"]), to_another_choice(people["P13"])} == {"Compare", "Choose"}
    waits(people["P14"], ("train", 1))
    people["P14"].send("leave")
    waits(people["P15"], ("train", 1))
    erased = people.pop("P15")  # whose link leads nowhere any more
    erased.client.post(f"{erased.address}leave/", {"erase": "yes"})
    begins(people["P16"])
    go_to(people["P16"], "check")
    for _ in range(2):
        people["P16"].answer_questions(right=False)
    waits(people["P17"], ("train", 1))
    staff("ada").post(f"/bench/{experiment_of(people['P17']).public_id}/do/pause/")
    fails(people["P18"])
    return made, people | {"R01": recruited(made)}


def finishes(person: Visitor) -> None:
    waits(person)
    while True:
        decides(person, reason="It keeps its pole up.")
        work(experiment_of(person))
        if experiment_of(person).status == "finished":
            go_to(person, "thanks")
            return


def knows_the_best(made: Any, person: Visitor) -> None:
    """A gold set: two candidates of this person's first round."""
    first = rows("experiments.Iteration").get(experiment=experiment_of(person), number=1)
    best, worst = first.candidates.order_by("index")[:2]
    rows("review.GoldSet").create(study=made, best=best, worst=worst)


def to_another_choice(person: Visitor) -> str:
    """Decides until something else than a round is asked; returns its kind."""
    waits(person)
    while (kind := asked(person)) == "Judge":
        decides(person)
        work(experiment_of(person))
        judges(person)
    return kind


def fails(person: Visitor) -> None:
    """The endpoint refuses to write for this person's experiment."""
    begins(person)
    experiment = experiment_of(person)
    refusing = rows("experiments.LanguageModel").get(name="Refusing")
    rows("experiments.Experiment").filter(pk=experiment.pk).update(model=refusing)
    go_to(person, "waiting")
    work(experiment)
    assert person.look() == "failed", person.state


def recruited(made: Any) -> Visitor:
    """Somebody whom a recruitment site sent; another only looked."""
    client = browser()
    browser().get(f"/take/{made.open_link}/", RECRUIT | {"PROLIFIC_PID": "somebody-else"})
    query = "&".join(f"{name}={value}" for name, value in RECRUIT.items())
    form = {"hash": made.consent_hash, "agree": "yes"}
    page = client.post(f"/take/{made.open_link}/?{query}", form, follow=True)
    person = Visitor(page.redirect_chain[-1][0], client)
    rows("experiments.Experiment").filter(pk=experiment_of(person).pk).update(overrides=TINY)
    return person


def study_of_panels() -> list[Visitor]:
    """Two judge one experiment: one waits for the other's choice. A third waits for a fourth."""
    _, people = study("Panels", {"Two": {"method": "icpl", "panel": 2}}, 4, seed=200)
    for label in ("P01", "P02", "P03"):
        begins(people[label])
    for label in ("P01", "P02"):
        go_to(people[label], "waiting")
    work(experiment_of(people["P01"]))
    decides(people["P01"], reason="It is the calmest.")
    judges(people["P02"])
    go_to(people["P03"], "gathering")
    return list(people.values())


def study_of_answers() -> list[Visitor]:
    """People who read answers to a problem: one is at a choice, another's answers are being tested."""
    model = rows("experiments.LanguageModel").get(name="Simulated answers")
    plan = {"task": "staircase", "method": "scaling_3d", "model": model}
    _, people = study("Answers", {"Solving": plan}, 3, seed=300)
    waits(people["P01"])
    waits(people["P02"], ("train", 1))
    return list(people.values())


def demonstration() -> Visitor:
    """A visitor who pressed Start on the home page."""
    client = browser()
    made = rows("studies.Study").filter(demonstration=True, arms__task="Cartpole").get()
    page = client.post(f"/start/{made.pk}/", follow=True)
    person = Visitor(page.redirect_chain[-1][0], client)
    begins(person)
    work(experiment_of(person), ("write", 1))
    return person


# --- A/B votes ------------------------------------------------------------------------------------------------


def votes(winner: Visitor) -> list[Visitor]:
    """One that is open, one that is closed and unblinded, one on answers, and a draft."""
    one, other = (final_clip(row) for row in (experiment_of(winner), by_name("finished by the command")))
    clips = [{"first": one, "second": other, "first_arm": "People", "second_arm": "Proxy"}]
    poll("A draft of a vote", clips, [])
    _, closed = poll("A closed vote", clips, ["votes"], evaluators_wanted=1)
    address = f"/bench/votes/{rows('votes.Poll').get(title='A closed vote').public_id}/unblind/"
    staff("ada").post(address)
    pairs = [*clips, {"first": other, "second": one, "first_arm": "Proxy", "second_arm": "Crowd"}]
    made, people = poll("An open vote", pairs, ["votes", "votes once", "agrees", "", "leaves"], recruiting=True)
    client = browser()
    form = {"hash": made.consent_hash, "agree": "yes"}
    page = client.post(f"/join/{made.recruitment_token}/?{'&'.join(f'{k}={v}' for k, v in RECRUIT.items())}", form)
    solved = rows("experiments.Experiment").filter(name="scaling_context on staircase")
    first, second = (row.winner for row in solved.order_by("seed"))
    answers = [{"first_answer": first, "second_answer": second, "first_arm": "One", "second_arm": "Two"}]
    texts = {"question": "Which answer is better?", "instructions": "Is it right?"}
    _, readers = poll("A vote on answers", answers, ["votes", "agrees"], **texts)
    return [*closed, *people, Visitor(page.url, client), *readers]


def by_name(name: str) -> Any:
    return rows("experiments.Experiment").get(name=name)


def final_clip(experiment: Any) -> Any:
    return rows("experiments.Clip").get(candidate=experiment.winner, percent=100, status="ready")


def poll(title: str, pairs: list[dict[str, Any]], habits: list[str], **values: Any) -> tuple[Any, list[Visitor]]:
    """A vote with an evaluator for each habit; a draft where there are none."""
    usual = {"question": "Which pole is calmer?", "instructions": "Look at the pole.", "consent_text": CONSENT}
    more = {"contact": "ada@example.org", "evaluators_wanted": 3, "completion_code": "CODE-VOTE"}
    made = rows("votes.Poll").create(title=title, **{**usual, **more, **values})
    for pair in pairs:
        rows("votes.Pair").create(poll=made, **pair)
    if not habits:
        return made, []
    staff("ada").post(f"/bench/votes/{made.public_id}/open/")
    staff("ada").post(f"/bench/votes/{made.public_id}/invite/", {"count": len(habits)})
    made.refresh_from_db()
    assert made.status == "open", f"{title} was not opened"
    invited = rows("votes.Evaluator").filter(poll=made).order_by("pk")
    people = [Visitor(f"/v/{row.token}/") for row in invited]
    for person, habit in zip(people, habits, strict=True):
        HABITS[habit](person)
    return made, people


def votes_on(person: Visitor, most: int = 20) -> None:
    """Answers every pair, or as many as that."""
    agrees(person)
    for _ in range(most):
        if person.look() != "ballot":
            return
        person.send("answer", showing=person.field("showing"), choice="left", client="{}")


def agrees(person: Visitor) -> None:
    if person.look() == "consent":
        person.agree()


HABITS = {
    "": lambda person: None,
    "agrees": agrees,
    "votes": votes_on,
    "votes once": lambda person: votes_on(person, 1),
    "leaves": lambda person: (votes_on(person, 1), person.send("leave")),
}
