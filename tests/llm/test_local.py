"""The local model: what it is offered, what its choices become, and a real small one where it is installed."""

import json
import random
import re
from pathlib import Path

import pytest

from llm import errors, extract, local
from llm.local import LocalWriter, make_grammar, make_question, read_components
from llm.messages import first_prompt
from llm.offline.drafting import FORMS
from llm.offline.quantities import derive
from llm.offline.reading import read
from tests.llm import real
from tests.llm.experiment import PROBLEM
from trainer import launch

pytestmark = pytest.mark.slow

OFFERED = derive(read(first_prompt(PROBLEM)))


def choice(quantity, form, weight="0.5", temperature="2.0"):
    return {"quantity": quantity, "transform": form, "weight": weight, "temperature": temperature}


def test_the_question_names_every_quantity_and_what_it_wants():
    asked = make_question(read(first_prompt(PROBLEM)), OFFERED)
    assert PROBLEM.description in asked and "before" not in asked
    assert all(re.search(rf"^- {q.name}: ", asked, re.MULTILINE) for q in OFFERED)
    assert "- forward_speed: more is better" in asked and "- upright: best near one" in asked


def test_the_grammar_offers_each_quantity_with_its_own_transforms_only():
    rules = dict(line.split(" ::= ", 1) for line in make_grammar(OFFERED).splitlines())
    moving = [f"q{i}" for i, quantity in enumerate(OFFERED) if quantity.aim != "staying"]
    assert rules["m"].split(" | ") == moving and len(moving) < len(OFFERED)
    assert rules["f"].replace(" m ", " q ") == rules["c"] and rules["root"].startswith('"[" f ')
    assert rules["q"].split(" | ") == [f"q{i}" for i in range(len(OFFERED))]
    for i, quantity in enumerate(OFFERED):
        words = [
            json.loads(json.loads(text))
            for text in re.findall(r'"(?:[^"\\]|\\.)*"', rules[f"q{i}"])
            if "transf" not in text
        ]
        assert words == [quantity.name, *FORMS[quantity.aim]]


def test_choices_become_components_each_quantity_once():
    names = {q.name: q for q in OFFERED}
    said = [choice("sideways_speed", "bell"), choice("effort", "cost"), choice("sideways_speed", "peak")]
    side, effort = read_components(json.dumps(said), OFFERED)
    assert (side.form, side.weight) == ("bell", 0.5) and (effort.form, effort.weight) == ("cost", -0.5)
    assert side.temperature == pytest.approx(2.0 * names["sideways_speed"].scale ** 2)


def test_every_choice_that_the_grammar_allows_is_executable():
    rng = random.Random(1)
    sources = []
    for _ in range(6):
        picked = rng.sample(OFFERED, rng.randint(2, 5))
        said = [
            choice(q.name, rng.choice(FORMS[q.aim]), rng.choice(local.WEIGHTS), rng.choice(local.TEMPERATURES))
            for q in picked
        ]
        sources.append(
            local.write_source(read_components(json.dumps(said), OFFERED), read(first_prompt(PROBLEM)).inputs)
        )
    *verdicts, unread = launch.check("Ant", [*sources, "what?"])  # one verdict a source, in their order
    assert [verdict.reason for verdict in verdicts if not verdict.ok] == []
    assert len(verdicts) == 6 and not unread.ok and unread.stage == "parse" and unread.reason


def test_a_choice_that_is_cut_off_is_an_error_and_no_program():
    with pytest.raises(errors.BadAnswer, match="cut off"):
        read_components('[{"quantity":"forward_', OFFERED)


def test_without_the_package_or_the_file_it_says_what_to_do(monkeypatch, tmp_path):
    local._load_server.cache_clear()
    if real.gguf() is not None:
        with pytest.raises(errors.BadRequest, match="must name a GGUF file"):
            LocalWriter(tmp_path / "none.gguf").complete(first_prompt(PROBLEM), 1, 0)
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    with pytest.raises(errors.BadRequest, match=r"pip install -r requirements-local\.txt"):
        LocalWriter(tmp_path / "other.gguf").complete(first_prompt(PROBLEM), 1, 0)


def test_other_questions_are_answered_by_rules_without_loading_anything():
    (reply,) = LocalWriter(Path("/nowhere.gguf")).complete([{"role": "user", "content": "Hello"}], 1, 0)
    assert "not a language model" in reply.text and reply.cost == 0.0


@pytest.mark.exhaustive  # test_real_servers.py asks a real model, too
@pytest.mark.skipif(bool(real.missing("xllamacpp")), reason=f"not installed: {real.missing('xllamacpp')}")
def test_a_real_model_designs_valid_rewards():
    model = LocalWriter(real.gguf())
    told = []
    first, second = model.complete(first_prompt(PROBLEM), 2, 5, watch=told.append)
    (again,) = model.complete(first_prompt(PROBLEM), 1, 5)
    assert first.text == again.text and first.text != second.text
    assert first.usage.output_tokens > 20 and [under.answered for under in told] == [0, 1]
    assert "a local language model" in first.text
    verdicts = launch.check("Ant", [extract.find_source(reply.text) for reply in (first, second)])
    assert [verdict.reason for verdict in verdicts if not verdict.ok] == []
