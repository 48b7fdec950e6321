"""What comes back by an import."""

import hashlib
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from tests.webapp import bench_rows, finished_study, poll_rows
from tests.webapp.exports import (
    edit_table,
    normalize_page,
    open_zip,
    read_staff_pages,
    repack,
    rows_of,
    set_cell,
    write_export,
)
from webapp import reaper
from webapp.archive import importer
from webapp.archive.models import Imported, Origin
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, LanguageModel, PromptSet
from webapp.problems.models import Attachment, Problem, Subtask, TestCase
from webapp.review import trials
from webapp.review.models import TrialPlan
from webapp.studies import opening
from webapp.studies.assigning import find_participants
from webapp.studies.models import Participant, Study
from webapp.votes import lifecycle as vote_opening
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestImport:
    def test_brings_back_every_page_and_figure(self, saved_export, staff):
        study = importer.restore(saved_export.path, "ada")
        after = read_staff_pages(staff, study)
        assert list(after) == list(saved_export.pages) and len(after) > 20
        for address, text in saved_export.pages.items():
            assert after[address] == text, address
        for name in saved_export.films:
            assert staff.get(f"/bench/{name}").status_code == 200

    def test_an_export_of_it_is_the_same(self, saved_export, tmp_path):
        one = saved_export.package()
        two = write_export(importer.restore(saved_export.path, "ada"), tmp_path / "two.zip")
        names = {name for name in one.namelist() if not name.startswith("traces/")}
        assert names == set(two.namelist())
        for name in names - {"manifest.json", "SHA256SUMS"}:
            assert two.read(name) == one.read(name), name

    def test_twice_beside_each_other(self, saved_export, tmp_path):
        """No row of the one comes to the other; a name that is in use is replaced by a new one."""
        one = saved_export.package()
        copies = [importer.restore(saved_export.path, "ada") for _ in range(2)]
        assert {model.name for model in LanguageModel.objects.all()} == {"Writer", "Writer (imported)"}
        sets = PromptSet.objects.all()
        assert {one.name for one in sets} == {"Paper", "Paper (imported)"} and len({one.digest for one in sets}) == 1
        again = write_export(copies[1], tmp_path / "copy.zip")
        differ = {name for name in one.namelist() if name not in again.namelist() or one.read(name) != again.read(name)}
        own = re.compile(
            r"(clips|votes|traces)/|tables/(experiments|clips|pairs|polls|language_models|prompt_sets)\.|manifest|SHA256"
        )
        assert [name for name in differ if not own.match(name)] == []
        assert Clip.objects.values("name").distinct().count() == Clip.objects.count()
        pair = Poll.objects.latest("pk").pairs.get()
        assert pair.origin["first"]["experiment"] == str(pair.first.candidate.iteration.experiment.public_id)

    def test_keeps_no_link_and_no_address(self, saved_export):
        study = importer.restore(saved_export.path, "ada")
        model = LanguageModel.objects.get()
        assert (model.api_key, model.base_url) == ("", "")
        assert saved_export.secrets.isdisjoint(study.participants.values_list("token", flat=True))
        assert study.contact == "" and not study.recruiting and not study.demonstration

    def test_nothing_of_it_ever_runs(self, saved_export, tmp_path, client):
        study = importer.restore(saved_export.path, "ada")
        newcomer = Participant.objects.get(label="Person-D")
        unfinished, failed, clip = _at_work(study)
        write_export(study, tmp_path / "running.zip", clips=False)
        finished_study.empty_database()
        study = importer.restore(tmp_path / "running.zip", "ada")
        assert study.status == "closed" and opening.open_study(study)
        for experiment in Experiment.objects.all():
            for act in (loop.start, loop.resume, loop.retry):
                assert not act(experiment), (experiment, act)
        assert not loop.refilm(Clip.objects.get(name=clip.name))
        reaper.tick()
        assert not Job.objects.exclude(status="cancelled").exists()
        states = dict(Experiment.objects.values_list("public_id", "status"))
        assert states[unfinished.public_id] == "cancelled" and states[failed.public_id] == "failed"
        assert Imported.objects.count() == Experiment.objects.count()
        newcomer = Participant.objects.get(label="Person-D")
        client.post(reverse("consent", args=[newcomer.token]), {"agree": "yes", "hash": study.consent_hash})
        newcomer.refresh_from_db()
        assert newcomer.consented_at is None and not newcomer.assignments.exists()

    def test_what_ran_is_told_as_it_was(self, saved_export, tmp_path):
        unfinished, _, _ = _at_work(importer.restore(saved_export.path, "ada"))
        one = write_export(find_participants(unfinished)[0].study, tmp_path / "one.zip", clips=False)
        finished_study.empty_database()
        two = write_export(importer.restore(tmp_path / "one.zip", "ada"), tmp_path / "two.zip", clips=False)
        assert {"running", "failed"} <= {row["status"] for row in rows_of(one, "experiments")}
        for name in one.namelist():
            assert name in ("manifest.json", "SHA256SUMS") or two.read(name) == one.read(name), name

    def test_may_be_tried_again_after_it_was_killed(self, saved_export, settings):
        """Its files were in their places, and its rows not yet committed."""

        def killed(study):
            placed.update({path: path.read_bytes() for path in (settings.DATA_DIR / "media").rglob("*.*")})
            raise KeyboardInterrupt

        placed = {}
        with pytest.raises(KeyboardInterrupt):
            importer.restore(saved_export.path, "ada", done=killed)
        for path, content in placed.items():  # a killed process clears nothing away
            path.write_bytes(content)
        importer.restore(saved_export.path, "ada")
        clips = Clip.objects.filter(status="ready")
        assert len(placed) > len(clips) > 0
        assert all(
            (settings.DATA_DIR / "media" / name).is_file() for clip in clips for name in (clip.video, clip.poster)
        )

    def test_takes_no_file_s_place(self, saved_export, settings):
        there = settings.DATA_DIR / "media" / min(saved_export.films)
        there.parent.mkdir(parents=True)
        there.write_bytes(b"somebody else's")
        with pytest.raises(Refused, match="with other contents"):
            importer.restore(saved_export.path, "ada")
        assert [path for path in (settings.DATA_DIR / "media").rglob("*") if path.is_file()] == [there]

    def test_draws_the_same_trials(self, saved_export):
        """Also where people have other keys."""
        finished_study.rows.participant(label="somebody before")
        drawn = []
        for study in (importer.restore(saved_export.path, "ada"), importer.restore(saved_export.path, "ada")):
            people, plan = study.participants.order_by("label"), TrialPlan(study=study, attention=2, gold=2, repeated=2)
            drawn.append([trials.plan_trials(plan, person, rounds=6) for person in people])
        assert drawn[0] == drawn[1] and len(drawn[0]) == 4

    def test_says_where_it_came_from(self, saved_export):
        study = importer.restore(saved_export.path, "grace")
        origin = Origin.objects.get(study=study)
        assert origin.sha256 == hashlib.sha256(saved_export.path.read_bytes()).hexdigest()
        assert origin.versions["packages"]["Django"]
        assert any(row["action"] == "looked at" for row in origin.audit)
        entry = Entry.objects.get(action="imported study")
        assert entry.actor == "grace" and entry.target_id == str(study.pk)

    def test_an_older_one_lacks_what_was_added_since(self, saved_export, tmp_path):
        package = saved_export.package()
        without = edit_table(package, "studies", lambda rows: [_less(rows[0], "parameter_required", "opens_at")])
        changes, since = {"tables/studies.json": without}, ("tables/notices.json", "tables/notices.csv")

        def older(about):
            tables = {name: count for name, count in about["tables"].items() if name != "notices"}
            return {**about, "format": 1, "tables": tables}

        path = repack(saved_export.path, tmp_path / "old.zip", changes, manifest=older, without=since)
        study = importer.restore(path, "ada")
        assert study.participants.count() == 4 and study.parameter_required is False and study.opens_at is None

    def test_what_a_newer_one_added_is_refused_in_words(self, saved_export, tmp_path):
        package = saved_export.package()
        more = {"tables/studies.json": edit_table(package, "studies", lambda rows: [{**rows[0], "colour": "blue"}])}
        less = {"tables/studies.json": edit_table(package, "studies", lambda rows: [_less(rows[0], "title")])}
        newer = repack(saved_export.path, tmp_path / "a.zip", manifest=lambda about: {**about, "format": 3})
        for path, said in (
            (newer, "Its format is 3, and this Prefine reads 2 and older ones. A newer Prefine wrote it"),
            (
                repack(saved_export.path, tmp_path / "b.zip", more),
                r"does not know \(colour\). A newer Prefine wrote it",
            ),
            (repack(saved_export.path, tmp_path / "c.zip", less), "title: is missing"),
        ):
            with pytest.raises(Refused, match=said):
                importer.restore(path, "ada")
        assert not Study.objects.exists()

    def test_is_refused_when_its_time_is_over(self, saved_export, tmp_path):
        study = importer.restore(saved_export.path, "ada")
        Study.objects.filter(pk=study.pk).update(retention_days=1, closed_at=timezone.now())
        finished_study.move_into_past(40)
        Origin.objects.update(changed={})
        study.refresh_from_db()
        write_export(study, tmp_path / "old.zip", clips=False)
        finished_study.empty_database()
        with pytest.raises(Refused, match="retention period"):
            importer.restore(tmp_path / "old.zip", "ada")
        assert not Study.objects.exists()


def _less(row, *names):
    return {name: value for name, value in row.items() if name not in names}


def _at_work(study):
    """One experiment that runs, one that failed with a clip that could not be filmed."""
    experiments = finished_study.experiments_of(study)
    Experiment.objects.filter(pk=experiments[0].pk).update(status="running")
    Experiment.objects.filter(pk=experiments[1].pk).update(status="failed")
    Job.objects.filter(pk=experiments[0].jobs.first().pk).update(status="running")
    clip = Clip.objects.filter(candidate__iteration__experiment=experiments[1]).first()
    Clip.objects.filter(pk=clip.pk).update(status="failed")
    return (*experiments[:2], clip)


def sum_of_two(name):
    """A problem with two figures, a subtask and a case."""
    problem = Problem.objects.create(name=name, title="Sum", form="program", statement="Add two numbers.")
    for file, content in (("figure", "sum"), ("other", "axis")):
        data = b"\x89PNG\r\n\x1a\n " + content.encode()
        Attachment.objects.create(problem=problem, file=SimpleUploadedFile(f"{file}.png", data))
    Subtask.objects.create(problem=problem, number=1, points=2.0)
    TestCase.objects.create(problem=problem, stdin="1 2", expected="3")


@pytest.fixture
def solved_problem():
    """A study whose task is a problem."""
    sum_of_two("sum-of-two")
    person = finished_study.rows.participant(finished_study.rows.study(task="sum-of-two"))
    Iteration.objects.create(experiment=person.experiment, number=1).candidates.create(index=1, source="int main(){}")
    return person.study


def read_and_closed(study):
    """A closed vote between an answer of the study and somebody else's."""
    mine = Candidate.objects.get(iteration__experiment__assignments__participant__study=study)
    poll = poll_rows.poll_of_answers(mine, poll_rows.answer_of("other", "int main() { return 0; }", "sum-of-two"))
    assert vote_opening.open_poll(poll) == []
    vote_opening.close_poll(poll)
    return poll


def figures_of(client, poll):
    """What staff read of a vote, and the files beside it."""
    page = normalize_page(client.get(poll.get_absolute_url()))
    said = page[page.index("What evaluators read") :].partition("</section>")[0]
    return said, [client.get(address).content for address in re.findall(r'href="(/bench/votes/[^"]+)"', said)]


class TestProblems:
    def test_come_along(self, solved_problem, tmp_path, settings):
        package = write_export(solved_problem, tmp_path / "one.zip")
        files = [name for name in package.namelist() if name.startswith("problems/")]
        assert [row["file"] for row in rows_of(package, "attachments")] == files and len(files) == 2
        assert "code/1/1-1.cpp" in package.namelist()
        finished_study.empty_database()
        for file in files:
            (settings.DATA_DIR / "media" / file).unlink()
        again = write_export(importer.restore(tmp_path / "one.zip", "ada"), tmp_path / "two.zip")
        for table in ("problems", "attachments", "subtasks", "test_cases", "arms", "experiments"):
            assert rows_of(again, table) == rows_of(package, table)
        for file in files:
            assert (settings.DATA_DIR / "media" / file).read_bytes() == package.read(file)

    def test_that_are_here_already_are_used(self, solved_problem, tmp_path):
        write_export(solved_problem, tmp_path / "one.zip")
        importer.restore(tmp_path / "one.zip", "ada")
        assert [model.objects.count() for model in (Problem, Attachment, Subtask, TestCase)] == [1, 2, 1, 1]
        assert Study.objects.count() == 2

    @pytest.mark.parametrize("here", [False, True])
    def test_what_evaluators_read_is_shown_as_before_with_its_figures(self, solved_problem, tmp_path, client, here):
        """Also where the problem is here already, under other keys and with files of other names."""
        poll = read_and_closed(solved_problem)
        client.force_login(bench_rows.create_staff())
        before = figures_of(client, poll)
        write_export(solved_problem, tmp_path / "one.zip")
        finished_study.empty_database()
        for number in range(2):
            sum_of_two(f"another-{number}")
        if here:
            sum_of_two("sum-of-two")
        importer.restore(tmp_path / "one.zip", "ada")
        assert figures_of(client, Poll.objects.get()) == before and len(before[1]) == 2
        again = write_export(Study.objects.get(), tmp_path / "two.zip")
        assert rows_of(again, "pairs") == rows_of(open_zip(tmp_path / "one.zip"), "pairs")

    @pytest.mark.parametrize("answers", [[], {"files": 1}, {"files": [[1]]}, {"files": {}}])
    def test_what_evaluators_read_is_checked(self, solved_problem, tmp_path, answers):
        read_and_closed(solved_problem)
        package = write_export(solved_problem, tmp_path / "one.zip")
        finished_study.empty_database()
        changes = set_cell("pairs", "answers", answers)(package)
        with pytest.raises(Refused, match="not a list of rows|not built"):
            importer.restore(repack(tmp_path / "one.zip", tmp_path / "bad.zip", changes), "ada")

    def test_that_say_something_else_here_are_refused(self, solved_problem, tmp_path):
        write_export(solved_problem, tmp_path / "one.zip")
        Problem.objects.update(statement="Subtract two numbers.")
        with pytest.raises(Refused, match="is here already, with another statement"):
            importer.restore(tmp_path / "one.zip", "ada")

    @pytest.mark.parametrize("name", ["../../secret_key", "problems/x.png", "clips/" + "0" * 36 + ".png"])
    def test_files_lead_nowhere_else(self, solved_problem, tmp_path, name):
        package = write_export(solved_problem, tmp_path / "one.zip")
        finished_study.empty_database()
        changes = set_cell("attachments", "file", name)(package)
        with pytest.raises(Refused, match="no name of a file"):
            importer.restore(repack(tmp_path / "one.zip", tmp_path / "bad.zip", changes), "ada")
