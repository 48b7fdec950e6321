"""A person judges answers: what the pages show and never show, votes as for films, and the files of a problem."""

import re

import pytest
from django.core.files.base import ContentFile

from tests.webapp import problem_rows, rows
from tests.webapp.problem_rows import GOOD, HALF, RIGHT, WRONG
from webapp.experiments import headless, loop
from webapp.experiments.execute import ask
from webapp.problems.brackets import _find_closing
from webapp.problems.markdown import MOST_LETTERS, render_formula, render_html
from webapp.problems.models import Attachment
from webapp.review.models import Screening, Vote

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}
HOSTILE = (
    "## Final answer\n\n$5$ <script>alert(1)</script>\n\n## Reasoning\n\n<img src=x onerror=alert(2)> "
    "[click](javascript:alert(3)) ![x](https://evil.example/x.png) <b style='color:red'>bold</b>\n\n"
    "| a |\n|:-:|\n| $\\href{javascript:alert(4)}{x}$ |\n"
)


def person(task, model, **plan):
    study = rows.study(task=task, judge="human", model=model, **{"method": "scaling_3d", "k": 3, "n": 2, **plan})
    return rows.participant(study)


def go_on(someone):
    experiment = someone.experiment
    headless.run_to_end(experiment, lambda said: None)
    experiment.refresh_from_db()
    return experiment


def page(client, someone):
    answer = client.get(f"/s/{someone.token}/")
    assert answer.status_code == 200
    return answer.content.decode()


def cast(client, someone, **choice):
    screening = Screening.objects.filter(participant=someone).latest("pk")
    return client.post(f"/s/{someone.token}/vote/", {"screening": screening.token, **choice}, follow=True)


def test_an_answer_of_headings_alone_is_shown(client):
    shown = client.get(problem_rows.open_judgement(problem_rows.sum_problem(), ["# It is 5050", "# It is 5049"]))
    assert b"<h4>It is 5050</h4>" in shown.content and b"<h4>It is 5049</h4>" in shown.content


@pytest.mark.slow
def test_a_person_judges_answers_to_the_end(client, settings):
    settings.UNDO_SECONDS = 0
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 0.5, WRONG: 0.5}) as (model, server):
        someone = person("sum", model)
        assert "New answers are being written" in page(client, someone)
        assert go_on(someone).status == "waiting"
        shown = page(client, someone)
        assert shown.count('class="answer is-ready"') == 3 and "<strong>pairs</strong>" in shown
        assert 'data-display="no">5050</span>' in shown, "the reference answer at hand"
        cast(client, someone, best="A", worst="B", tags=["best: right result", "best: nonsense"])
        vote = Vote.objects.get()
        order = Screening.objects.get().order
        assert (vote.best_id, vote.worst_id, vote.tags) == (order[0], order[1], ["best: right result"])
        page(client, someone)
        assert go_on(someone).status == "waiting"
        last = server.asked[-1]["messages"][-1]["content"]
        assert vote.best.source in last and vote.worst.source in last
        assert "Round 2 of 2" in page(client, someone)
        cast(client, someone, best="C", worst="A")
        assert "Your last choice is being taken in" in page(client, someone), "3D asks for no choice among the rounds"
        experiment = go_on(someone)
    assert experiment.status == "finished", experiment.error
    end = page(client, someone)
    assert "The answer that was chosen" in end and experiment.winner == Vote.objects.latest("pk").best


@pytest.mark.slow
@pytest.mark.parametrize("method", ["icpl", pytest.param("open_loop", marks=pytest.mark.exhaustive)])
def test_a_person_chooses_in_the_end_among_the_best_answers_of_the_rounds(client, settings, method):
    settings.UNDO_SECONDS = 0
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 0.5, WRONG: 0.5}) as (model, server):
        someone = person("sum", model, method=method, n=3)
        for number in (1, 2, 3):
            assert go_on(someone).status == "waiting"
            assert f"Round {number} of 3" in page(client, someone)
            cast(client, someone, best="A", worst="B", reason=f"clear in {number}")
        assert go_on(someone).status == "waiting"
        shown = page(client, someone)
        assert "Final choice" in shown and shown.count('class="answer is-ready"') == 3 and 'name="worst"' not in shown
        cast(client, someone, best="B")
        experiment = go_on(someone)
    assert experiment.status == "finished", experiment.error
    assert experiment.winner == Vote.objects.latest("pk").best
    told = [request.payload["messages"][-1]["content"] for request in experiment.requests.filter(kind="Write")]
    assert ("clear in 2" in told[2] and "What changed against" in told[2]) == (method == "icpl")
    assert len(set(told)) == (3 if method == "icpl" else 1)
    assert "The answer that was chosen" in page(client, someone)


@pytest.mark.slow
def test_what_is_wrong_with_a_choice_is_said_in_the_words_of_the_page(client):
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 1.0}) as (model, _):
        someone = person("sum", model)
        go_on(someone)
    page(client, someone)
    said = cast(client, someone, best="A").content.decode().partition("<body>")[2]  # style sheets stand before it
    assert "Choose the best and the worst answer" in said and "video" not in said.lower()
    cast(client, someone, cannot_tell="yes")
    assert Vote.objects.get().cannot_tell
    assert "You could not tell the answers apart" in page(client, someone)


@pytest.mark.slow
def test_pages_of_answers_say_nothing_of_method_score_or_model(client):
    problem_rows.add_problem()
    with problem_rows.model({GOOD: 0.5, HALF: 0.5}) as (model, _):
        someone = person("add", model, n=1)
        waiting = page(client, someone)
        go_on(someone)
    review = page(client, someone)
    for shown in (waiting, review):
        main = shown.partition("<body>")[2]
        assert not re.search(r"scaling|\brts\b|reward|candidate|policy|simulated|robot|video", main, re.IGNORECASE)
    assert "Cases right" in review and "30 of 30" in review
    problem = someone.experiment.task_info
    problem.show_results = problem.show_reference = False
    problem.save()
    assert "Cases right" not in page(client, someone)


@pytest.mark.slow
def test_hostile_answers_are_text(client):
    problem_rows.sum_problem()
    with problem_rows.model({HOSTILE: 1.0}) as (model, _):
        someone = person("sum", model)
        assert go_on(someone).status == "waiting"
    shown = page(client, someone)
    for tag in ("<script>alert", "<img src=x", "<b style", 'href="javascript', 'evil.example/x.png"'):
        assert tag not in shown, tag
    assert not re.search(r"<[^>]*\sstyle=", shown)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown, someone.experiment.error


def test_formulas_are_left_to_the_page_and_long_texts_are_cut():
    assert str(render_formula("\\frac{1}{2}")) == '<p><span class="math" data-display="no">\\frac{1}{2}</span></p>\n'
    assert "<span" not in render_html("It costs $5 and $6 in all.")
    assert 'data-display="yes">x_1^2 &lt; y</span>' in render_html("\\[ x_1^2 < y \\]")
    assert "100 letters, is left out" in render_html("x" * (MOST_LETTERS + 100))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\\[ x \\] is right", '<p><span class="math" data-display="yes">x</span> is right</p>'),
        (
            "Thus\n\\[\na\n+ b\n\\]\nholds",
            '<p>Thus</p>\n<span class="math" data-display="yes">a\n+ b</span><p>holds</p>',
        ),
        ("so \\[ x \\], and \\(y\\)", 'so <span class="math" data-display="yes">x</span>, and <span class="math" data'),
        ("> \\[ a\n> + b \\]", '<span class="math" data-display="yes">a\n+ b</span></blockquote>'),
        ("> \\[ a\n> b\n\n\\]", "<blockquote>\n<p>[ a\nb</p>\n</blockquote>\n<p>]</p>"),
        ("`\\(a\\)` \\( \\) \\(b", "<p><code>\\(a\\)</code> ( ) (b</p>"),
    ],
)
def test_formulas_in_brackets_stand_where_they_are_written_and_no_word_is_lost(text, shown):
    assert shown in render_html(text)


class Counted(str):
    looked = 0

    def find(self, *args):
        type(self).looked += 1
        return super().find(*args)


def test_many_openings_look_for_a_closing_once():
    text, env = Counted("\\(" * 1000), {}
    assert {_find_closing(env, text, "\\)", place, len(text)) for place in range(0, 2000, 2)} == {-1}
    closed = Counted("\\[ a\n" * 1000 + "\\]")
    assert {_find_closing(env, closed, "\\]", place, len(closed)) for place in range(0, 5000, 5)} == {5000}
    assert Counted.looked == 2


@pytest.mark.slow
def test_files_of_a_problem_are_for_those_who_judge_it(client):
    problem = problem_rows.sum_problem()
    picture = Attachment(problem=problem, name="figure.png")
    picture.file.save("figure.png", ContentFile(b"\x89PNG"))
    evil = Attachment(problem=problem, name="page.html")
    evil.file.save("page.html", ContentFile(b"<script>"))
    with problem_rows.model({RIGHT: 1.0}) as (model, server):
        someone = person("sum", model)
        go_on(someone)
    content = server.asked[0]["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"], "the model sees the picture, not the page"
    judged = ask.build_judgement(loop.find_waiting_request(someone.experiment))  # as it would be put to a model
    assert judged.images == tuple(part["image_url"]["url"] for part in content[1:])
    shown = page(client, someone)
    address = re.search(r'src="(/s/[^"]+/attachment/\d+/)"', shown)[1]
    seen = client.get(address)
    assert seen["Content-Type"] == "image/png" and seen.content == b"\x89PNG"
    other = client.get(f"/s/{someone.token}/attachment/{evil.pk}/")
    assert other.content == b"<script>"
    assert other["Content-Disposition"].startswith("attachment") and other["X-Content-Type-Options"] == "nosniff"
    stranger = rows.participant(rows.study(title="Robots"), label="P99")
    assert client.get(f"/s/{stranger.token}/attachment/{picture.pk}/").status_code == 404
    assert client.get(f"/s/nobody/attachment/{picture.pk}/").status_code == 404
