"""What is decided about every field, and what an export holds."""

import csv
import hashlib
import io
import re

import pytest
from django.db.models import JSONField

from llm import replay
from tests.webapp import finished_study
from tests.webapp.exports import read_all, rows_of, write_export
from webapp.archive import dictionary, importer, json_shapes
from webapp.archive.models import Origin
from webapp.archive.rules import Rule, Table, keep
from webapp.archive.tables import OMITTED, TABLES
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def list_undecided(tables, left):
    """Models and fields without a decision, and decisions about models and fields that do not exist."""
    found = []
    for model in finished_study.list_own_models():
        name = model._meta.label
        table = tables.get(name)
        if table is None and name not in left:
            found.append(f"{name}: decide in webapp/archive whether an export holds it")
        elif table is not None and name in left:
            found.append(f"{name}: decided twice")
        elif table is not None:
            there = {field.name for field in model._meta.concrete_fields if not field.primary_key}
            found += [
                f"{name}.{field}: decide whether an export holds it" for field in sorted(there - set(table.columns))
            ]
            found += [f"{name}.{field}: is no field" for field in sorted(set(table.columns) - there)]
        if model._meta.many_to_many:
            found.append(f"{name}: exports know no many-to-many fields; use a model between")
    known = {model._meta.label for model in finished_study.list_own_models()}
    return found + [f"{name}: is no model" for name in sorted({*tables, *left} - known)]


class TestDecisions:
    def test_about_every_model_and_field(self):
        assert list_undecided(TABLES, OMITTED) == []

    def test_a_new_field_is_noticed(self):
        table = TABLES["review.Vote"]
        fewer = {name: column for name, column in table.columns.items() if name != "reason"}
        changed = {**TABLES, "review.Vote": Table(**{**table.__dict__, "columns": fewer})}
        assert "review.Vote.reason: decide whether an export holds it" in list_undecided(changed, OMITTED)

    def test_a_new_model_is_noticed(self):
        known = {name: table for name, table in TABLES.items() if name != "review.Vote"}
        assert "review.Vote: decide in webapp/archive whether an export holds it" in list_undecided(known, OMITTED)

    def test_what_is_gone_is_noticed(self):
        table = TABLES["review.Vote"]
        more = {**table.columns, "mood": keep("No such field.")}
        changed = {**TABLES, "review.Vote": Table(**{**table.__dict__, "columns": more})}
        assert "review.Vote.mood: is no field" in list_undecided(changed, OMITTED)

    def test_every_column_is_explained(self):
        for entry in dictionary.list_entries(TABLES.values()):
            assert len(entry.meaning) > 5 and not entry.meaning.startswith(" "), entry

    def test_secrets_are_never_exported(self):
        words = re.compile(
            r"token$|api_key|external_id|email|address|contact|password|secret|_link$|endpoint$|p256dh|auth$"
        )
        for table in TABLES.values():
            for name, column in table.columns.items():
                secret = words.search(name) and table.field(name).get_internal_type() != "BooleanField"
                assert not (secret and column.exported), f"{table.file}.{name}"

    def test_rows_that_hang_on_a_participant_say_whose_they_are(self):
        """Deletion goes by these declarations."""
        persons = {"studies.Participant"} | {d.model for d in (*TABLES.values(), *OMITTED.values()) if d.person}
        persons -= {"experiments.Experiment"}
        for model in finished_study.list_own_models():
            links = {field.related_model._meta.label for field in model._meta.concrete_fields if field.is_relation}
            if links & (persons - {"studies.Assignment"}) and model._meta.label != "studies.Participant":
                decision = TABLES.get(model._meta.label) or OMITTED[model._meta.label]
                assert decision.person, f"{decision.model}: declare whose its rows are (person=...)"


class TestExport:
    def test_holds_what_people_did(self, saved_export):
        package = saved_export.package()
        people = {row["id"]: row["label"] for row in rows_of(package, "participants")}
        assert set(people.values()) == {"Person-A", "Person-B", "Person-C", "Person-D"}
        votes = rows_of(package, "votes")
        assert len(votes) == saved_export.votes == 6  # two rounds and the final pick, twice
        screenings = {row["id"]: row for row in rows_of(package, "screenings")}
        candidates = {row["id"]: row for row in rows_of(package, "candidates")}
        said = {(people[screenings[vote["screening"]]["participant"]], vote["reason"]) for vote in votes}
        assert said == {("Person-A", finished_study.REASON), ("Person-B", finished_study.OTHER_REASON)}
        for vote in votes:
            assert vote["best"] == screenings[vote["screening"]]["order"][0]
            assert vote["client"] == {"decide_ms": 4000}
            assert "def compute_reward" in candidates[vote["best"]]["source"]
        assert {row["kind"] for row in rows_of(package, "trials")} == {"repeated"}
        assert len(rows_of(package, "viewings")) == 7
        assert {row["version"] for row in rows_of(package, "consent_texts")} == {"1"}
        assert len(rows_of(package, "pair_votes")) == len(rows_of(package, "showings")) == 3
        assert any(row["action"] == "looked at" and row["actor"] == "staff-1" for row in rows_of(package, "audit"))
        files = {"code/1/1-1.py", "replay/1.json", "polls/1/plan.txt", "polls/1/results.json", "versions.json"}
        assert files | saved_export.films <= set(package.namelist())
        assert "baseline" in {row["name"] for row in rows_of(package, "experiments")}

    def test_choices_say_who_chose_what_among_what(self, saved_export):
        package = saved_export.package()
        rows = list(csv.DictReader(io.StringIO(package.read("choices.csv").decode())))
        votes = {row["id"]: row for row in rows_of(package, "votes")}
        screenings = {row["id"]: row for row in rows_of(package, "screenings")}
        assert len(rows) == sum(len(screenings[vote["screening"]]["order"]) for vote in votes.values())
        assert {row["participant"] for row in rows} == {"Person-A", "Person-B"}
        choices = {(row["participant"], row["experiment"], row["round"]): [] for row in rows}
        for row in rows:
            choices[row["participant"], row["experiment"], row["round"]].append(row)
        assert len(choices) == len(votes) == 6
        for shown in choices.values():
            assert [row["position"] for row in shown] == list("ABCDEF")[: len(shown)]
            assert shown[0]["choice"] == "best" and [row["choice"] for row in shown].count("best") == 1
        candidates = {f"{row['iteration']}-{row['index']}": row for row in rows_of(package, "candidates")}
        assert {float(row["score"]) for row in rows if row["score"]} <= {
            row["final_score"] for row in candidates.values()
        }
        finals = [shown for (_, _, number), shown in choices.items() if not number]
        assert len(finals) == 2 and all("worst" not in {row["choice"] for row in shown} for shown in finals)
        assert {row["flags"] for row in rows} == {"hasty"}  # the rows of this test are made within a moment

    def test_results_have_a_row_for_each_experiment(self, saved_export):
        package = saved_export.package()
        rows = list(csv.DictReader(io.StringIO(package.read("results.csv").decode())))
        votes = [row["choice"] for row in rows_of(package, "pair_votes")]
        assert {(row["participant"], row["counted"], row["left_out"]) for row in rows} == {
            ("Person-A", "1", ""),
            ("Person-B", "1", ""),
            ("Person-C", "0", "left the study"),
        }
        (first, other) = (row for row in rows if row["counted"] == "1")
        assert first["compared"] == str(len(votes) - votes.count("same")) and other["compared"] == "0"
        rounds = list(csv.DictReader(io.StringIO(package.read("rounds.csv").decode())))
        assert [row["round"] for row in rounds if row["participant"] == "Person-A"] == ["1", "2"]
        winners = {row["id"]: row["winner"] for row in rows_of(package, "experiments")}
        scores = {row["id"]: row["rts"] for row in rows_of(package, "candidates")}
        assert float(first["best_score"]) == scores[winners[int(first["experiment"])]]

    def test_questionnaires_are_wide_and_have_a_codebook(self, saved_export):
        package = saved_export.package()
        rows = list(csv.DictReader(io.StringIO(package.read("questionnaires.csv").decode())))
        assert {row["participant"] for row in rows} == {"Person-A", "Person-B"} and len(rows) == 2
        for row in rows:
            assert (row["arm"], row["placement"], row["round"], row["age"], row["job"]) == (
                "A",
                "rounds",
                "1",
                "31",
                "3",
            )
            assert [row[name] for name in ("seen_1", "seen_2", "seen_3", "calm_1", "calm_2")] == list("10125")
            assert finished_study.REASON[1:] in row["remark"] or row["remark"] == finished_study.OTHER_REASON
        book = {row["variable"]: row for row in csv.DictReader(io.StringIO(package.read("codebook.csv").decode()))}
        dictionary_rows = csv.DictReader(io.StringIO(package.read("dictionary.csv").decode()))
        before = [row["column"] for row in dictionary_rows if row["table"] == "questionnaires"]
        assert [*before, *book] == list(rows[0])
        assert book["job"]["codes"] == "1 = Student; 2 = Researcher; 3 = Other"
        assert (
            book["job_text"]["shown_when"] == "job is 3" and book["age"]["codes"] == "number from 16 up to 99 in years"
        )

    def test_csv_says_the_same_as_json_and_runs_nothing(self, saved_export):
        package = saved_export.package()
        for table in TABLES.values():
            read = list(csv.DictReader(io.StringIO(package.read(f"tables/{table.file}.csv").decode())))
            rows = rows_of(package, table.file)
            assert [row["id"] for row in read] == [str(row["id"]) for row in rows], table.file
            assert not any((cell or "").startswith(("=", "@", "+")) for row in read for cell in row.values())
        votes = list(csv.DictReader(io.StringIO(package.read("tables/votes.csv").decode())))
        assert f"'{finished_study.REASON}" in {vote["reason"] for vote in votes}

    @pytest.mark.parametrize("name", ["study.zip", "fresh.zip", "policies.zip"])
    def test_holds_no_secret(self, saved_export, name):
        held = read_all(saved_export.package(name))
        assert len(saved_export.secrets) > 20
        for secret in saved_export.secrets:
            assert secret.encode() not in held, secret

    def test_fresh_pseudonyms_are_fresh_everywhere(self, saved_export):
        package = saved_export.package("fresh.zip")
        held = read_all(package)
        for label in ("Person-A", "Person-B", "Person-C", "Person-D", "R01", "R02"):
            assert label.encode() not in held
        labels = {row["label"] for row in rows_of(package, "participants")}
        assert len(labels) == 4 and all(re.fullmatch(r"P-[0-9a-f]{8}", label) for label in labels)
        assert any(label in row["name"] for label in labels for row in rows_of(package, "experiments"))

    def test_the_same_data_gives_the_same_bytes(self, saved_export):
        assert saved_export.path.read_bytes() == (saved_export.folder / "again.zip").read_bytes()
        assert {info.date_time for info in saved_export.package().infolist()} == {(1980, 1, 1, 0, 0, 0)}

    def test_all_files_are_in_one_folder(self, saved_export):
        assert re.fullmatch(r"prefine-study-\d+-\d{4}-\d\d-\d\d/", saved_export.package().folder)

    def test_checksums_are_of_everything(self, saved_export):
        package = saved_export.package()
        listed = dict(line.split("  ")[::-1] for line in package.read("SHA256SUMS").decode().splitlines())
        assert set(listed) == set(package.namelist()) - {"SHA256SUMS"}
        for name, sha256 in listed.items():
            assert hashlib.sha256(package.read(name)).hexdigest() == sha256

    def test_dictionary_names_every_column(self, saved_export):
        package = saved_export.package()
        read = csv.DictReader(io.StringIO(package.read("dictionary.csv").decode()))
        described = {(row["table"], row["column"]) for row in read}
        for table in TABLES.values():
            header = package.read(f"tables/{table.file}.csv").decode().splitlines()[0].split(",")
            assert {(table.file, column) for column in header} <= described
            assert f"## {table.file}" in package.read("dictionary.md").decode()

    def test_films_and_policies_are_optional(self, saved_export):
        package = saved_export.package("policies.zip")
        assert not [name for name in package.namelist() if name.endswith((".mp4", ".jpg"))]
        assert len(rows_of(package, "clips")) > 0
        policies = [name for name in package.namelist() if name.startswith("policies/")]
        assert policies in (["policies/1/1-2.pt"], ["policies/1/1-3.pt"])  # of a candidate that did not win
        assert package.read(policies[0]) == b"weights"
        assert (
            package.read("traces/1/1-2.csv")
            == saved_export.package().read("traces/1/1-2.csv")
            == b"interval,samples\n0,1\n"
        )
        assert not [name for name in saved_export.package().namelist() if name.startswith("policies/")]

    def test_a_replay_needs_nothing_else(self, saved_export, tmp_path):
        (tmp_path / "1.json").write_bytes(saved_export.package().read("replay/1.json"))
        record = replay.read_record(tmp_path / "1.json")
        assert replay.replay(record).candidate == record.winner

    def test_an_open_vote_is_sealed(self, tmp_path, saved_export):
        study = importer.restore(saved_export.path, "ada")
        Poll.objects.update(status="open")
        Origin.objects.all().delete()  # told of the vote when it was closed
        package = write_export(study, tmp_path / "study.zip", clips=False)
        for table in ("polls", "pairs", "evaluators", "showings", "pair_votes"):
            assert rows_of(package, table) == []
        assert b"Which is calmer" not in read_all(package)
        assert "1 vote(s) that are not closed" in package.read("README.txt").decode()

    def test_knows_nothing_of_other_studies(self, tmp_path, saved_export):
        study = importer.restore(saved_export.path, "ada")
        other = finished_study.rows.participant(finished_study.rows.study(title="Another study"), label="Person-X")
        finished_study.rows.open_training(other)
        held = read_all(write_export(study, tmp_path / "study.zip", clips=False))
        assert b"Another study" not in held and b"Person-X" not in held


def test_every_json_column_of_an_import_has_a_shape():
    """Lists of rows' numbers are checked by themselves."""
    columns = {
        f"{table.model}.{name}"
        for table in TABLES.values()
        for name, column in table.columns.items()
        if column.exported and column.rule != Rule.ROWS and isinstance(table.field(name), JSONField)
    }
    assert "experiments.Experiment.prompts" in columns
    assert columns == set(json_shapes.SHAPES)
