"""What holds for every method, whatever it does."""

import dataclasses
import json
import re

import numpy as np
import pytest

import tests.with_django  # noqa: F401
from llm.judges.model import make_question
from llm.methods import METHODS, OFFERED
from llm.records import Judged, Look, Write
from llm.replay import Saved
from simulation.rollout import write_rollout
from tests.llm.experiment import (
    HIDDEN_SCORES,
    VARIANTS,
    WRITING,
    FakeVerdict,
    make_film_states,
    make_small_experiment,
    name_case,
    prompts,
    train,
    without_options,
)
from webapp.experiments.execute.ask import format_values

pytestmark = pytest.mark.slow

BLIND = [name for name, method in METHODS.items() if method.writes and not method.uses_metric]
NEVER_SHOWS_PROGRAMS = ("open_loop", "scaling_context", "scaling_batch_")
SHOWS_PROGRAMS = [name for name in WRITING if not name.startswith(NEVER_SHOWS_PROGRAMS)]
HIDES_IT = ["scaling_batch_score"]  # it selects by the metric, and shows none of it


def again(experiment, *kind, **values):
    """The same, not run yet."""
    return make_small_experiment(experiment.method, experiment.options, *kind, **values)


finished = {}
"""By their cases: what several tests look at and none changes."""


def finish(case):
    """The small experiment of this case after its end, and its winner."""
    if name_case(case) not in finished:
        experiment = make_small_experiment(*case)
        finished[name_case(case)] = experiment, experiment.run()
    return finished[name_case(case)]


@pytest.fixture(scope="module", params=[*without_options(OFFERED), *VARIANTS], ids=name_case)
def finished_experiment(request):
    return finish(request.param)


def test_it_ends_with_a_candidate_that_was_trained(finished_experiment):
    experiment, winner = finished_experiment
    outcomes = [o for kind in experiment.got_kind("Train") for o in kind]
    assert winner in [o.candidate.id for o in outcomes]
    assert len({o.candidate.id for o in outcomes}) == len(outcomes)


def test_it_asks_a_judge_and_a_model_where_it_says_so(finished_experiment):
    experiment, _ = finished_experiment
    method = METHODS[experiment.method]
    asked = [r for r in experiment.requests if type(r).__name__ in ("Judge", "Choose", "Compare")]
    assert bool(asked) == (method.asks_judge and not method.uses_metric)
    assert any(hasattr(request, "messages") for request in experiment.requests) == method.writes


def test_it_asks_for_the_best_of_all_and_for_comparisons_where_it_says_so(finished_experiment):
    experiment, _ = finished_experiment
    method = METHODS[experiment.method]
    asked = {type(r).__name__ for r in experiment.requests}
    judged = method.asks_judge and not method.uses_metric
    assert ("Choose" in asked, "Compare" in asked) == (judged and method.chooses, judged and method.compares)


def test_it_has_as_many_rounds_as_it_says(finished_experiment):
    experiment, _ = finished_experiment
    method = METHODS[experiment.method]
    said = method.rounds_of(experiment.k, experiment.n, experiment.options)
    assert max(r.iteration for r in experiment.requests if type(r).__name__ == "Train") == said


@pytest.mark.parametrize("most", [3, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_killed_at_a_boundary_it_ends_the_same(finished_experiment, most):
    experiment, winner = finished_experiment
    boundaries = range(len(experiment.saved))
    for kept in {*boundaries[:: -(-len(boundaries) // most)], boundaries[-1]}:
        saved = json.loads(json.dumps([dataclasses.asdict(s) for s in experiment.saved[:kept]]))
        resumed = again(experiment, saved=[Saved(**s) for s in saved])
        resumed.known = {(s.step, s.position): s for s in experiment.saved}
        assert resumed.run() == winner
        assert [s.fingerprint for s in resumed.saved] == [s.fingerprint for s in experiment.saved]
        assert len(resumed.requests) == len(experiment.saved) - kept


def read_all_texts(experiment, folder):
    """All that models are shown: prompts, the questions to a model if it were the judge, what goes with pictures."""
    asked = [make_question(request, experiment.problem, 5).ask.messages for request in experiment.of(Judged)]
    return [
        *prompts(experiment),
        *("\n".join(message["content"] for message in messages) for messages in asked),
        *(
            format_values(rollout(experiment, look, folder / "rollout.npz"), look.frames)
            for look in experiment.of(Look)
        ),
    ]


def rollout(experiment, look, file):
    """The file of a rollout that is looked at: its body is as far as its score says."""
    (seen,) = [o for some in experiment.got_kind("Train") for o in some if o.candidate.id == look.candidate]
    worth = {name: np.array(values["samples"]) for name, values in seen.trace.items()}
    steps = len(worth["total"])
    poses = np.full((steps, 15), seen.rts)
    write_rollout(file, "Ant", poses, 0.05, np.arange(steps) == 0, components=worth)
    return file


@pytest.mark.parametrize("name", SHOWS_PROGRAMS)
def test_a_writer_is_told_what_the_check_noted_about_the_program_that_it_is_shown(name):
    note = "line 3: this statement has no effect [upright]"
    experiment = make_small_experiment(
        name, {}, check=lambda sources: [FakeVerdict(True, notes=(note,)) for _ in sources]
    )
    experiment.run()
    assert all(candidate.notes == (note,) for written in experiment.got(Write) for candidate in written)
    assert any(f"# Note: {note}" in prompt for prompt in prompts(experiment))


@pytest.mark.parametrize("case", [*without_options([*BLIND, *HIDES_IT]), *VARIANTS], ids=name_case)
def test_no_prompt_holds_the_metric_or_a_score(case, tmp_path):
    experiment, _ = finish(case)
    outcomes = [o for trained in experiment.got_kind("Train") for o in trained]
    assert all(o.states for o in outcomes)  # with the metric among them, as the speed of the body
    forms = ("{:.3g}", "{:.4g}", "{:.6g}", "{}", "{:.0f}")
    secrets = {form.format(score) for o in outcomes for score in (o.rts, *HIDDEN_SCORES) for form in forms}
    secrets |= {form.format(float(f"{o.rts:.4g}")) for o in outcomes for form in forms}
    shown = read_all_texts(experiment, tmp_path)
    assert prompts(experiment) and all(shown)
    assert case != ("icpl", {"measures": True}) or any("height: start 0.5" in text for text in shown)
    for prompt in shown:
        assert not [s for s in secrets if s in prompt]
        assert not re.search(r"\b(rts|metric)", prompt, re.IGNORECASE)


@pytest.mark.parametrize("case", [*without_options(BLIND), *VARIANTS], ids=name_case)
def test_scores_of_the_same_order_lead_to_the_same_prompts(case, tmp_path):
    """The only way from the metric to a prompt is who was picked."""
    as_is, _ = finish(case)
    squeezed = make_small_experiment(*case, train=lambda request: tuple(_rescored(o) for o in train(request)))
    squeezed.run()
    assert read_all_texts(as_is, tmp_path) == read_all_texts(squeezed, tmp_path)


def _rescored(outcome):
    score = outcome.rts * 3 - 5
    return dataclasses.replace(outcome, metric_trace={"samples": [1.0]}, rts=score, states=make_film_states(score))
