"""The table of experiments: filters, order, groups, tags, archive, several side by side."""

import csv
import html as markup
import io

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.webapp import bench_rows, fake_workers, rows
from webapp.audit.models import Entry
from webapp.comparisons.models import Comparison
from webapp.experiments import experiment_tags, loop
from webapp.experiments.models import Experiment

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def read(client, query=""):
    answer = client.get(reverse("bench:index") + query)
    assert answer.status_code == 200, query
    return markup.unescape(answer.content.decode())


def names(client, query=""):
    """The names in the CSV, in order."""
    answer = client.get(reverse("bench:runs_csv") + query)
    return [row["name"] for row in csv.DictReader(io.StringIO(answer.content.decode()))]


def change(client, action, *chosen, **values):
    data = {"run": [str(row.public_id) for row in chosen], **values}
    return client.post(reverse("bench:change_selected", args=[action]), data, follow=True)


def finish(row, final, cost=None):
    """End a row with a winner of this final score."""
    iteration = row.iterations.create(number=1)
    winner = iteration.candidates.create(index=1, source="pass", rts=final + 1, final_score=final, status="trained")
    Experiment.objects.filter(pk=row.pk).update(status="finished", winner=winner)
    return row


def test_every_filter_finds_its_rows_and_no_others(staff):
    ant = fake_workers.create_experiment(name="walks", task="Ant", method="eureka", owner="ada")
    pole = fake_workers.create_experiment(name="balances", seed=7, judge="model")
    pole.tags.create(name="pilot")
    person = rows.participant()
    rows.create_round(person)
    arm = person.assignments.get().arm
    other = rows.arm(person.study, "B")
    Experiment.objects.filter(pk=person.experiment.pk).update(name="judged by people", paused=True)
    hidden = fake_workers.create_experiment(name="hidden", archived_at="2026-01-02T00:00:00Z")
    Experiment.objects.filter(pk=hidden.pk).update(created_at="2026-01-01T12:00:00Z")
    comparison = Comparison.objects.create(
        name="two", tasks=["Cartpole"], methods=["icpl", "eureka"], candidates=6, experiments=1
    )
    planned = comparison.plan.draft(next(comparison.plan.cells()))
    planned.save()
    assert set(names(staff)) == {"walks", "balances", "judged by people", planned.name}
    expected = {
        "task=Ant&status=draft": {"walks"},
        "method=eureka": {"walks"},
        "status=paused": {"judged by people"},
        "judge=model": {"balances"},
        "tag=pilot": {"balances"},
        "mine=on": {"walks"},
        f"study={person.study.pk}": {"judged by people"},
        f"arm={arm.pk}": {"judged by people"},
        f"arm={other.pk}": set(),
        f"comparison={comparison.public_id}": {planned.name},
        "archived=yes": {"hidden"},
        "archived=all&until=2026-01-01": {"hidden"},
        "since=2026-01-02&archived=all": {"walks", "balances", "judged by people", planned.name},
        "q=PILOT": {"balances"},
        "q=walk+ant": {"walks"},
        "q=walk+cart": set(),
        f"q={str(ant.public_id)[:8]}": {"walks"},
    }
    for query, found in expected.items():
        assert set(names(staff, f"?{query}")) == found, query
    assert "No experiment fits" in read(staff, f"?arm={other.pk}")


def test_what_cannot_be_understood_is_said_at_its_field(staff):
    fake_workers.create_experiment(name="walks")
    text = read(staff, "?since=yesterday&study=x&sort=nonsense&page=99&col=nonsense")
    assert "Enter a valid date." in text and "x is not one of the available choices" in text
    assert "walks" in text


def test_the_address_is_the_state_and_holds_nothing_needless(staff):
    fake_workers.create_experiment()
    usual = "&".join(f"col={name}" for name in ("status", "task", "method", "round", "final", "best"))
    usual += "&col=curve&col=tags&col=now&col=created"
    answer = staff.get(reverse("bench:index") + f"?q=&task=Cartpole&status=&sort=-created&{usual}")
    assert answer.status_code == 302 and answer["Location"] == "/bench/?task=Cartpole"
    asked = {"HX-Request": "true", "HX-Trigger": "run-filter"}
    answer = staff.get(reverse("bench:index") + "?q=&task=Cartpole&col=seed", headers=asked)
    assert answer["HX-Push-Url"] == "/bench/?task=Cartpole&col=seed"
    assert "HX-Push-Url" not in staff.get(reverse("bench:index") + "?q=", headers={"HX-Request": "true"})


def test_rows_are_sorted_by_any_column_and_those_without_a_value_come_last(staff):
    for name, final in (("low", 1.0), ("high", 30.0), ("middle", 4.5)):
        finish(fake_workers.create_experiment(name=name), final)
    fake_workers.create_experiment(name="without")
    assert names(staff, "?sort=final") == ["low", "middle", "high", "without"]
    assert names(staff, "?sort=-final") == ["high", "middle", "low", "without"]
    assert names(staff, "?sort=name") == ["high", "low", "middle", "without"]
    assert 'aria-sort="descending"' in read(staff, "?sort=-final")
    columns = [column.name for column in run_columns() if column.sortable]
    for name in columns:
        assert len(names(staff, f"?sort=-{name}&col={name}")) == 4, name


def run_columns():
    from webapp.bench.experiments.run_columns import ALL

    return ALL


def test_groups_have_means_with_intervals_where_scores_can_be_compared(staff):
    for method, finals in (("icpl", (1.0, 2.0, 4.5)), ("open_loop", (3.0,))):
        for seed, final in enumerate(finals):
            finish(fake_workers.create_experiment(method=method, seed=seed), final)
    fake_workers.create_experiment(method="icpl", seed=9)
    text = read(staff, "?group=method")
    assert "2.50 <small>of 3</small>" in text and "-1.98 to 6.98" in text  # t(2) = 4.303
    assert "3.00 <small>of 1</small>" in text
    assert 'href="?method=icpl"' in text
    finish(fake_workers.create_experiment(task="Ant"), 7.0)
    assert "several tasks" in read(staff, "?group=method")
    assert "None" in read(staff, "?group=study")


def test_columns_are_chosen_and_the_csv_has_the_same(staff):
    bench_rows.create_finished_experiment(k=2, n=1, clips=False, seed=31, name="=2+2")
    text = read(staff, "?col=seed&col=cost&col=calls&col=time")
    assert 'data-label="Seed">31<' in text and "$0.0250" in text and 'data-label="Task"' not in text
    answer = staff.get(reverse("bench:runs_csv") + "?col=seed&col=cost&col=calls")
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert list(row) == ["id", "name", "seed", "calls", "cost"]
    assert (row["seed"], row["calls"], row["cost"], row["name"]) == ("31", "2", "0.025", "'=2+2")


def test_tags_are_added_and_removed_for_many(staff):
    first, second = fake_workers.create_experiment(), fake_workers.create_experiment()
    said = change(staff, "tag", first, second, tag="  long   run ", next="/bench/?task=Cartpole")
    assert said.redirect_chain[-1][0] == "/bench/?task=Cartpole"
    assert "“long run” is on 2 more experiments." in said.content.decode()
    change(staff, "tag", first, tag="long run")
    assert [tag.name for row in (first, second) for tag in row.tags.all()] == ["long run", "long run"]
    entry = Entry.objects.filter(action="tagged experiments").earliest("pk")
    assert entry.actor == "ada" and len(entry.detail["experiments"]) == 2
    change(staff, "untag", first, tag="long run")
    assert not first.tags.exists() and second.tags.exists()
    for tag in ("", " ", "a,b", "x" * 41):
        assert "Nothing was changed." in change(staff, "tag", first, tag=tag).content.decode()
    assert "Choose experiments first." in change(staff, "tag", tag="fine").content.decode()
    away = change(staff, "tag", first, tag="fine", next="https://elsewhere.example/")
    assert away.redirect_chain[-1][0] == "/bench/"


def test_an_archived_experiment_is_hidden_kept_and_listed_again(staff):
    row, running = fake_workers.create_experiment(name="old"), fake_workers.create_experiment(name="runs")
    loop.start(running)
    text = change(staff, "archive", row, running).content.decode()
    assert "1 experiment archived" in text and "1 experiment not" in text
    assert f'value="{row.public_id}" formaction="/bench/selected/unarchive/"' in text
    assert names(staff) == ["runs"] and names(staff, "?archived=yes") == ["old"]
    assert staff.get(reverse("bench:experiment", args=[row.public_id])).status_code == 200
    change(staff, "unarchive", row)
    assert set(names(staff)) == {"old", "runs"}


def test_a_viewer_reads_the_table_and_changes_nothing(client):
    client.force_login(User.objects.create(username="eve", is_staff=True))
    row = fake_workers.create_experiment()
    assert "data-reader" in read(client)
    for action in ("tag", "archive"):
        assert change(client, action, row, tag="mine").status_code == 403
    row.refresh_from_db()
    assert row.archived_at is None and not row.tags.exists()


def test_selected_experiments_offer_what_applies_to_them(staff):
    listed, archived, running = [
        fake_workers.create_experiment(name=name) for name in ("listed", "archived", "running")
    ]
    experiment_tags.archive(Experiment.objects.filter(pk=archived.pk))
    loop.start(running)
    offered = {
        chosen: [
            words
            for words in ("Archive", "List again")
            if f">{words}</button>" in read_selected(staff, *([listed, archived, running][place] for place in chosen))
        ]
        for chosen in ((0,), (1,), (2,), (0, 1), (1, 2))
    }
    assert offered == {
        (0,): ["Archive"],
        (1,): ["List again"],
        (2,): [],
        (0, 1): ["Archive", "List again"],
        (1, 2): ["List again"],
    }


def read_selected(client, *chosen):
    return client.get(reverse("bench:selected"), {"run": [row.public_id for row in chosen]}).content.decode()


def test_selected_experiments_stand_side_by_side(staff):
    first = bench_rows.create_finished_experiment(k=2, n=3, name="same")
    second = bench_rows.create_finished_experiment(k=2, n=2, name="same", seed=4)
    chosen = f"?run={first.public_id}&run={second.public_id}"
    answer = staff.get(reverse("bench:selected") + chosen)
    text = markup.unescape(answer.content.decode())
    assert "same, seed 0" in text and "same, seed 4" in text and text.count("<video") == 2
    words, player = text.index("/words/en/"), text.index("/studio/player.js")
    assert words < player, "which says what its buttons do"
    assert "Cartpole: best score so far" in text and "Cartpole: training of the winners" in text
    assert "None is chosen" in staff.get(reverse("bench:selected") + "?run=nonsense").content.decode()
    curves = staff.get(reverse("bench:curves", args=["rounds-cartpole", "csv"]) + chosen)
    points = list(csv.DictReader(io.StringIO(curves.content.decode())))
    so_far = [float(point["y"]) for point in points if point["series"] == "same, seed 0"]
    assert len(so_far) == 3 and so_far == sorted(so_far)
    assert staff.get(reverse("bench:curves", args=["nonsense", "svg"]) + chosen).status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_rows(staff):
    def count(query):
        with CaptureQueriesContext(connection) as captured:
            read(staff, query)
        return len(captured)

    def add(number):
        made = finish(fake_workers.create_experiment(name=f"row {number}"), 1.0)
        experiment_tags.add_tag(Experiment.objects.filter(pk=made.pk), "many")
        rows.participant(person.study, label=f"P{number + 20}")

    person = rows.participant(label="P10")
    rows.create_round(person)
    add(0)
    every = "&".join(f"col={column.name}" for column in run_columns())
    queries = ("", "?sort=-cost", "?group=arm&sort=time", f"?{every}&q=row")
    read(staff)  # the first page of a session notes when it was used
    before = [count(query) for query in queries]
    for number in range(1, 8):
        add(number)
    assert [count(query) for query in queries] == before
    with CaptureQueriesContext(connection) as captured:
        staff.get(reverse("bench:index"), headers={"HX-Request": "true", "HX-Trigger": "experiments"})
    assert len(captured) <= 12  # every five seconds


def choose_columns(client, *columns):
    asked = {"HX-Request": "true", "HX-Trigger": "run-columns"}
    query = "&".join(["task=Cartpole", *(f"col={name}" for name in columns)])
    return client.get(reverse("bench:index") + f"?{query}", headers=asked)


def test_chosen_columns_are_remembered_for_each_person(staff):
    fake_workers.create_experiment(seed=31)
    answer = choose_columns(staff, "seed", "k")
    assert answer["HX-Push-Url"] == "/bench/?task=Cartpole", "the address needs not name them"
    text = read(staff)
    assert 'data-label="Seed">31<' in text and 'data-label="Task"' not in text and 'href="?sort=-seed"' in text
    assert names(staff) == ["test"]
    columns = staff.get(reverse("bench:runs_csv")).content.decode().splitlines()[0]
    assert columns == "id,name,k,seed"
    assert staff.get(reverse("bench:index") + "?col=seed&col=k").headers["Location"] == "/bench/"
    assert 'data-label="Task"' in read(staff, "?col=task"), "an address may name others"
    assert 'data-label="Seed"' in read(staff), "which are not remembered"
    staff.force_login(User.objects.create(username="vera", is_staff=True))
    assert 'data-label="Task"' in read(staff) and 'data-label="Seed"' not in read(staff)
    staff.cookies[f"columns-{User.objects.get(username='vera').pk}"] = "nonsense.k.<b>"
    assert 'data-label="K"' in read(staff)
    choose_columns(staff)
    assert 'data-label="Task"' in read(staff), "none chosen: the usual ones"
