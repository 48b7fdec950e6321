import dataclasses
import re
from string import Template

import pytest

from llm import prompts
from llm.errors import PromptError, ReplayMismatch
from llm.messages import format_trace
from llm.prompts import render
from llm.replay import Record, advance, replay
from tests.llm.experiment import Experiment, train


@pytest.mark.parametrize("name", prompts.list_names())
def test_a_missing_or_unknown_variable_raises(name):
    wanted = Template((prompts.FOLDER / f"{name}.txt").read_text()).get_identifiers()
    values = {variable: f"<{variable}>" for variable in wanted}
    text = render(name, **values)
    assert all(value in text for value in values.values())
    assert "$" not in text
    for left_out in wanted:
        with pytest.raises(PromptError, match=rf"{name}.txt does not fit: missing \['{left_out}'\]"):
            render(name, **{k: v for k, v in values.items() if k != left_out})
    with pytest.raises(PromptError, match=r"unused \['surplus'\]"):
        render(name, **values, surplus="x")


def test_an_unknown_prompt_names_the_known_ones():
    with pytest.raises(PromptError, match="no prompt file 'nothing.txt'; known: .*best"):
        render("nothing")


def test_a_stray_dollar_raises(tmp_path, monkeypatch):
    (tmp_path / "costs.txt").write_text("It costs $5 and $name.")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    with pytest.raises(PromptError, match="costs.txt does not fit"):
        render("costs", name="x")


def test_values_may_hold_dollars():
    assert render("reason", reason="it costs $5 and $name").endswith("it costs $5 and $name")


@pytest.fixture
def own_prompts(tmp_path, monkeypatch):
    """Call it with texts by name: they are the prompts of one's own from then on."""

    def use(**texts):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text)
        monkeypatch.setenv("PREFINE_PROMPTS", str(folder))
        prompts._read_template.cache_clear()

    yield use
    monkeypatch.undo()
    prompts._read_template.cache_clear()


def test_own_prompts_replace_those_of_their_name_alone(own_prompts):
    before, other = render("reason", reason="it limps"), render("system")
    own_prompts(reason="The judge says for $$5: $reason")
    assert render("reason", reason="it limps") == "The judge says for $5: it limps" != before
    assert render("system") == other
    name = prompts.hash_texts(prompts.read_own())
    own_prompts(reason="The judge says: $reason")
    assert name and prompts.hash_texts(prompts.read_own()) not in (name, "")


def test_own_prompts_that_do_not_fit_are_refused_with_every_reason(own_prompts):
    own_prompts(reason="It says.", feedbak="x", system="It costs $5", first="$problem and $more")
    with pytest.raises(PromptError) as raised:
        prompts.read_own()
    for words in (
        "reason.txt lacks $reason",
        "there is no prompt feedbak.txt",
        "system.txt has a $ that begins no variable",
        "first.txt has unknown $more",
    ):
        assert words in str(raised.value)
    own_prompts()
    with pytest.raises(PromptError, match="holds no prompt"):
        prompts.read_own()


def test_a_record_is_replayed_with_the_prompts_that_it_holds(own_prompts):
    own_prompts(first="$problem\n\n# Now\n\nWrite, and take your time.")
    experiment = Experiment(k=2, n=2)
    winner, texts = experiment.run(), dict(prompts.read_own())
    record = Record(experiment.problem, "icpl", experiment.seed, 2, 2, tuple(experiment.saved), winner=winner)
    own_prompts(first="$problem\n\n# Now\n\nWrite.")
    with pytest.raises(ReplayMismatch):
        replay(record)
    assert replay(dataclasses.replace(record, prompts={prompts.hash_texts(texts): texts})).candidate == winner


@pytest.mark.parametrize("order", [sorted, lambda names: sorted(names, reverse=True)])
@pytest.mark.parametrize("begun_with_own", [False, True])
def test_a_record_whose_prompts_changed_on_the_way_is_replayed_with_those_of_each_step(
    own_prompts, begun_with_own, order
):
    """Each request names its set by its version: as the words of a set stand in later prompts, too, each is asked as
    the whole method was with that set. A record keeps no order of the sets.
    """
    sets, versions, now = {}, [], {"first": "$problem\n\n# Now\n\nWrite, and take your time."}

    def change_after_training(request):
        own_prompts(**now, feedback=f"$problem\n$examples\n\n# Now\n\nWrite, round {request.iteration}.")
        return train(request)

    class Watched(Experiment):
        def answer(self, request):
            texts = dict(prompts.read_own())
            name = prompts.hash_texts(texts)
            sets.update({name: texts} if name else {})
            versions.append(f"0.1.0 (abc), prompts {name}" if name else "0.1.0 (abc)")
            return super().answer(request)

    if begun_with_own:
        own_prompts(**now)
    experiment = Watched(k=2, n=3, train=change_after_training)
    experiment.advance = lambda saved: advance("icpl", experiment.problem, 7, 2, 3, saved, strict=False)
    winner = experiment.run()
    rows = tuple(dataclasses.replace(row, version=v) for row, v in zip(experiment.saved, versions, strict=True))
    named = {name: sets[name] for name in order(sets)}
    record = Record(experiment.problem, "icpl", 7, 2, 3, rows, winner=winner, prompts=named)
    assert len(named) == 3 + begun_with_own and len(set(versions)) == 4
    end = replay(record)
    assert (end.candidate, end.differs) == (winner, ())
    changed = {name: {one: f"{text} Now." for one, text in texts.items()} for name, texts in named.items()}
    with pytest.raises(ReplayMismatch, match="other words"):
        replay(dataclasses.replace(record, prompts=changed))
    assert replay(dataclasses.replace(record, prompts=changed), strict=False).differs


def test_a_trace_is_written_with_four_digits():
    trace = {"speed": {"samples": [0.123456, 2.0, None], "max": 12345.6, "mean": 1e-7, "min": -3}}
    assert format_trace(trace) == "- speed: [0.1235, 2, nan], max 1.235e+04, mean 1e-07, min -3"
    assert format_trace({}) == "(no trace was recorded)"


def test_prompt_files_have_short_lines():
    assert not [n for n in prompts.list_names() if re.search(r".{121}", (prompts.FOLDER / f"{n}.txt").read_text())]
