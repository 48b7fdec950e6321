"""The loop's commands."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from webapp.experiments import headless
from webapp.experiments.management.commands import run_experiment
from webapp.experiments.models import Experiment, LanguageModel

pytestmark = pytest.mark.django_db(transaction=True)


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--task", "Unicycle"], "unknown task 'Unicycle'; robots: "),
            (["--method", "magic"], "unknown method 'magic'; known: eureka, icpl"),
            (["--method", "evreka"], "Did you mean eureka?"),
            (["--preset", "huge"], "unknown preset 'huge'"),
            (["--model", "gpt-9"], "unknown language model 'gpt-9'; known: offline"),
            (["--task", "HumanoidJump"], "a person or a language model can judge it"),
            (["--judge", "human"], "in the browser"),
            (["--judge", "oracle"], "unknown judge 'oracle'; known: human, proxy, model"),
            (["--k", "1"], "k: ICPL needs at least 2"),
            (["--option", "reasons=maybe"], "options: option reasons: 'maybe' is not true or false"),
            (["--option", "reasons"], "'reasons' is not an option: write it as name=value"),
            (["--judge-option", "beta=x"], "judge_options: option beta: 'x' is not a number"),
            (["--shared-experience"], "shared_experience: Only SAC learns from what others did"),
            (["--vision", "eye"], "unknown language model 'eye'"),
            (["--dollar-budget", "-1"], "dollar_budget: "),
            (["--iterations", "0"], "--iterations must be between"),
            (["--resume", "nonsense"], "there is no experiment nonsense"),
        ],
    )
    def test_a_mistake_is_named_and_nothing_is_created(self, arguments: list[str], message: str) -> None:
        with pytest.raises(CommandError, match="(?s).*" + message.replace("(", r"\(")):
            call_command("run_experiment", *arguments)
        assert not Experiment.objects.exists()

    def test_names_are_taken_in_any_case(self, monkeypatch: pytest.MonkeyPatch) -> None:
        LanguageModel.objects.create(name="My model", kind="openai", base_url="http://x.example/v1", model="m")
        monkeypatch.setattr(headless, "run_to_end", lambda *_: None)
        typed = {"task": "ant-lie-down", "method": "RF-Agent", "judge": "Proxy", "preset": "QUICK", "model": "my-model"}
        with pytest.raises(CommandError, match="is running"):
            call_command("run_experiment", **typed)
        row = Experiment.objects.get()
        found = (row.task, row.method, row.judge, row.preset, str(row.model))
        assert found == ("AntLieDown", "rf_agent", "proxy", "quick", "My model")

    def test_a_full_disk_is_said_with_how_to_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(headless, "run_to_end", full)
        with pytest.raises(CommandError, match="No space left on device\nGo on with: ./prefine run --resume"):
            call_command("run_experiment", task="Cartpole")

    def test_the_seed_counts_up_unless_one_is_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run_experiment.Command, "finish", lambda command: None)
        monkeypatch.setattr(headless, "run_to_end", lambda *_: None)
        for values in ({}, {}, {"seed": 5}, {"seed": 0}, {"method": "eureka"}, {"name": "mine"}):
            call_command("run_experiment", task="Cartpole", **values)
        made = [row.name if row.name == "mine" else row.name[-6:] for row in Experiment.objects.order_by("pk")]
        assert made == ["seed 0", "seed 1", "seed 5", "seed 0", "seed 0", "mine"]
        assert list(Experiment.objects.order_by("pk").values_list("seed", flat=True)) == [0, 1, 5, 0, 0, 6]

    def test_demonstration_studies_are_created_once(self) -> None:
        from webapp.studies.models import Study

        call_command("demonstration")
        call_command("demonstration")
        studies = Study.objects.filter(demonstration=True, status="open")
        plans = {(arm.task, arm.k, arm.n) for study in studies for arm in study.arms.all()}
        assert plans == {("Ant", 6, 3), ("Cartpole", 6, 2)}
        for study in studies:
            study.full_clean()
            study.arms.get().full_clean()
            assert "withdraw" in study.consent_text

    def test_a_demonstration_that_was_taken_from_the_home_page_stays_away(self) -> None:
        from webapp.studies.models import Study

        call_command("demonstration")
        Study.objects.update(demonstration=False)
        call_command("demonstration")
        assert not Study.objects.filter(demonstration=True).exists()
