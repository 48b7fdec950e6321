"""The practice trial and the trials in between, where answers are read in place of films."""

import re

import pytest
from django.urls import reverse

from tests.webapp import bench_rows, problem_rows, rows
from tests.webapp.problem_rows import RIGHT, WRONG
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration
from webapp.review import quality, trials
from webapp.review.models import GoldSet, Screening, Trial, TrialPlan, Vote
from webapp.review.screenings import find_letters
from webapp.studies.models import Participant, Study
from webapp.studio import practice
from webapp.studio.practice_answers import SAMPLES

pytestmark = pytest.mark.django_db
TEXTS = [RIGHT, WRONG, RIGHT.replace("101", "a hundred and one")]


@pytest.fixture
def person(settings):
    settings.UNDO_SECONDS = 0
    problem_rows.open_judgement(problem_rows.sum_problem(), TEXTS)
    Participant.objects.update(label="P39")  # whose single trials are drawn for the first wait that there is for them
    return Participant.objects.get()


def page(client, person):
    return client.get(person.get_absolute_url()).content.decode()


def answer(client, person, token, **fields):
    return client.post(
        reverse("vote", args=[person.token]), {"screening": token, **fields}, follow=True
    ).content.decode()


def _main(html):
    return html.partition('id="live"')[2].partition("</main>")[0]


def waits(client, person):
    """The first round is judged for good, and the next answers are being written."""
    page(client, person)
    answer(client, person, Screening.objects.get().token, best="A", worst="B")
    page(client, person)
    Iteration.objects.get_or_create(experiment=person.experiment, number=2)
    Experiment.objects.update(status=Experiment.Status.RUNNING)
    return Vote.objects.get(locked_at__isnull=False)


def picks(trial):
    return dict(
        zip(("best", "worst"), find_letters(trial, [trial.expected_best_id, trial.expected_worst_id]), strict=True)
    )


@pytest.mark.slow
def test_an_attention_trial_says_which_answers_to_choose(client, person):
    TrialPlan.objects.create(study=person.study, attention=1)
    waits(client, person)
    html = page(client, person)
    trial = Trial.objects.get()
    best, worst = trials.find_required_letters(trial)
    assert f"please choose answer {best} as the best and answer {worst} as the worst" in html
    assert "While the next answers are being written" in html and html.count('class="answer is-ready"') == 3
    assert 'class="why"' not in html and "video" not in _main(html)
    assert "Choose the best and the worst answer" in answer(client, person, trial.token)
    html = answer(client, person, trial.token, best=best, worst=worst)
    assert "Saved, thank you." in html and "are being written" in html
    assert quality.assess_study(person.study)[person].attention == (True,)


@pytest.mark.slow
def test_a_round_of_answers_is_repeated(client, person):
    TrialPlan.objects.create(study=person.study, repeated=1)
    vote = waits(client, person)
    html = page(client, person)
    trial = Trial.objects.get()
    assert (trial.expected_best, trial.expected_worst) == (vote.best, vote.worst)
    assert "5050" in html and set(trial.order) == set(Screening.objects.get().order)
    answer(client, person, trial.token, **picks(trial))
    assert quality.assess_study(person.study)[person].consistency == 1.0


@pytest.mark.slow
def test_a_gold_set_of_answers(client, person):
    right, wrong = (
        Candidate.objects.create(iteration=past(), index=index, source=text, status="trained")
        for index, text in enumerate((RIGHT, WRONG), 1)
    )
    client.force_login(bench_rows.create_staff())
    add = reverse("bench:study_gold", args=[person.study_id])
    assert f'name="best" value="{right.pk}"' in client.get(add).content.decode()
    fields = {"best": right.pk, "worst": wrong.pk}
    assert client.post(add, fields).status_code == 302 and GoldSet.objects.get().best == right
    TrialPlan.objects.create(study=person.study, gold=1)
    waits(client, person)
    assert "Which of these two is the better answer?" in page(client, person)
    trial = Trial.objects.get()
    assert trial.kind == "gold" and set(trial.order) == {right.pk, wrong.pk}
    answer(client, person, trial.token, best=find_letters(trial, [wrong.pk])[0])
    assert quality.assess_study(person.study)[person].gold == (False,)


def past():
    experiment, _ = Experiment.objects.get_or_create(name="earlier", task="sum", method="scaling_3d")
    return Iteration.objects.get_or_create(experiment=experiment, number=1)[0]


@pytest.mark.slow
def test_what_was_never_tried_is_in_no_trial(person):
    robot = rows.participant(rows.study())
    films = [row.pk for row in rows.create_round(robot).candidates.all()]
    assert set(trials._filter_showable(films)) == set(films)
    Clip.objects.all().delete()
    written = list(Candidate.objects.filter(iteration__experiment__task="sum").values_list("pk", flat=True))
    Candidate.objects.filter(pk=written[0]).update(status="failed")
    assert trials._filter_showable([*films, *written]) == written[1:]


@pytest.mark.slow
def test_the_practice_trial_has_answers_that_everybody_ranks_alike(client, person):
    Study.objects.update(practice=True)
    html = page(client, person)
    assert "Practice: it does not count" in html and "A shirt on sale" in html
    shown = {tile.letter: tile.name for tile in practice.make_tiles(person, 3)}
    assert html.count('class="answer is-ready"') == len(shown) == 3 and "$" not in SAMPLES["still"].words
    finals = re.findall(r'id="answer-(\w)".*?data-display="no">(.*?)</span>', html, flags=re.DOTALL)
    assert all(SAMPLES[shown[letter]].final.startswith(f"${final}") for letter, final in finals) and len(finals) == 3
    ranked = sorted(shown, key=lambda letter: list(SAMPLES).index(shown[letter]))

    def send(**fields):
        return client.post(reverse("practice", args=[person.token]), fields, follow=True).content.decode()

    assert "Choose the best and the worst answer" in send(best="A")
    html = send(best=ranked[-1], worst=ranked[0])
    assert "Most people would choose otherwise" in html and f"You chose answer {ranked[-1]} as the best" in html
    assert "It is right and shows every step." in html and "video" not in _main(html)
    send(then="again")
    assert "That is how it works" in send(best=ranked[0], worst=ranked[-1])
    send(then="on")
    assert "Round 1 of 3" in page(client, person) and not Vote.objects.exists()
