"""The lineage page of an experiment played through the real loop."""

import pytest

from tests.webapp import bench_rows
from webapp.bench.studies import lineage

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def staff_client(client):
    client.force_login(bench_rows.create_staff())
    return client


def test_each_pick_stands_beside_what_it_was_written_from(staff_client):
    experiment = bench_rows.create_finished_experiment(k=3, n=3)
    links = lineage.read_lineage(experiment)
    assert [link.iteration.number for link in links] == [1, 2, 3]
    assert links[0].parent is None and links[0].code_change == "written from the task alone"
    assert links[1].parent == links[0].best
    assert links[1].code_change.startswith("lines: ") and links[1].rows
    rts = links[1].behaviour[0]
    assert (rts.name, rts.before, rts.after) == ("RTS", links[0].best.rts, links[1].best.rts)
    assert [change.name for change in links[1].behaviour[1:4]] == ["total", "episode length", "upright"]
    page = staff_client.get(f"/bench/{experiment.public_id}/lineage/").content.decode()
    assert page.count('class="panel lineage"') == 3
    assert "Code beside that of" in page


def test_it_comes_as_a_table_for_a_paper(staff_client):
    experiment = bench_rows.create_finished_experiment(k=3, n=2)
    iteration = experiment.iterations.get(number=2)
    iteration.reason, iteration.tags, iteration.difference = "100% upright & <b>calm</b>", ["best: moves fast"], "x_1"
    iteration.save()
    address = f"/bench/{experiment.public_id}/lineage"
    csv = staff_client.get(f"{address}.csv")
    assert csv["Content-Type"].startswith("text/csv")
    assert len(csv.content.decode().splitlines()) == 3
    assert "best: moves fast" in csv.content.decode()
    tex = staff_client.get(f"{address}.tex").content.decode()
    assert r"100\% upright \& \textless{}b\textgreater{}calm" in tex and r"x\_1" in tex
    assert "<b>calm" not in staff_client.get(f"{address}/").content.decode()
    assert staff_client.get(f"{address}.exe").status_code == 404


def test_nothing_was_judged_yet(staff_client):
    experiment = bench_rows.create_training_experiment()
    experiment.iterations.update(best=None)
    assert (
        "No round has been judged yet" in staff_client.get(f"/bench/{experiment.public_id}/lineage/").content.decode()
    )
