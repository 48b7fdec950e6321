"""Prompts that an administrator uploads: checked, chosen by experiments, arms and variants, asked with, kept."""

from __future__ import annotations

import io
import zipfile
from contextlib import nullcontext

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from llm import prompts
from llm.replay import Open, replay
from tests.webapp import rows
from tests.webapp.exports import edit_table, open_zip, repack, write_export
from tests.webapp.fake_workers import create_experiment, find_job, find_open_requests, start_experiment
from tests.webapp.test_roles import account, signed_in
from webapp.accounts.roles import Role
from webapp.archive import importer, work
from webapp.archive.models import Import
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.base import zips
from webapp.base.store import store
from webapp.bench.comparisons.forms import ComparisonForm
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.contrasts import add_controls
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import make_plan
from webapp.comparisons.plan_warnings import describe_equal_arms
from webapp.comparisons.report import _describe_settings
from webapp.experiments import execute, loop, prompt_sets, repeating, seeds, upgrades
from webapp.experiments.models import Experiment, PromptSet
from webapp.studies import preflight

pytestmark = pytest.mark.django_db
WORDS = "$problem\n\n# Now\n\nWrite, and take your time."
PAGE, UPLOAD = "/bench/data/prompts/", "/bench/data/prompts/upload/"


def make_set(name="Paper", **texts):
    return PromptSet.objects.create(name=name, texts=texts or {"first": WORDS}, added_by="anna")


def upload(client, name="Paper", **files):
    given = [SimpleUploadedFile(file.replace("__", "."), data) for file, data in files.items()]
    return client.post(UPLOAD, {"name": name, "files": given})


def test_an_archive_becomes_a_set_of_what_was_changed(admin_client):
    """The whole download with one text changed, in a folder, with what a Mac adds."""
    own = admin_client.get("/bench/data/prompts/prefine.zip")
    with zipfile.ZipFile(io.BytesIO(own.content)) as archive:
        files = {f"mine/{name}": archive.read(name) for name in archive.namelist()}
    assert {name.removeprefix("mine/").removesuffix(".txt") for name in files} == {*prompts.list_names()}
    files |= {"mine/first.txt": WORDS.replace("\n", "\r\n").encode(), "__MACOSX/mine/._first.txt": b"\x00"}
    assert upload(admin_client, set__zip=zips.pack(files | {"mine/.DS_Store": b"\xff"})).status_code == 302
    row = PromptSet.objects.get()
    assert (row.name, row.texts, row.added_by) == ("Paper", {"first": WORDS}, "admin")
    said = admin_client.get(PAGE).text
    assert row.digest in said and f"1 of {len(files) - 1}" in said and "by admin" in said and "Not yet" in said
    with zipfile.ZipFile(io.BytesIO(admin_client.get(f"/bench/data/prompts/{row.pk}.zip").content)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {"first.txt": WORDS}
    entry = Entry.objects.get(action="uploaded prompts")
    assert entry.detail == {"digest": row.digest, "prompts": ["first"]}


@pytest.mark.parametrize(
    ("file", "data", "words"),
    [
        ("first__txt", b"Write $more.", "first.txt lacks $problem"),
        ("first__txt", b"Write $more.", "First.txt has unknown $more"),
        ("frist__txt", b"$problem", "no prompt frist.txt to replace; the nearest is first.txt"),
        ("first__md", b"$problem", "First.md is no text of a prompt: its name must end with .txt. Leave it out"),
        ("first__txt", b"\xff\xfe", "First.txt is not UTF-8: save it as UTF-8 text"),
        ("first__zip", b"PK", "First.zip is no readable ZIP archive"),
        ("first__txt", b"$problem \x00 hi", "First.txt has a NUL character: save it as plain text"),
        ("system__txt", b" \n", "System.txt is empty: write a text, or leave it out"),
        ("first__txt", b"costs $5 $problem", "has a $ that begins no variable: write $$"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(admin_client, file, data, words):
    answer = upload(admin_client, **{file: data})
    assert answer.status_code == 400 and not PromptSet.objects.exists()
    assert words.casefold() in answer.text.casefold() and 'value="Paper"' in answer.text


def test_answers_are_scored_in_the_words_of_everybody(admin_client, monkeypatch):
    same = prompts.read_published()["reasoning_same"]
    refused = upload(admin_client, reasoning_same__txt=(same + " Be kind.").encode())
    assert "scores the answers of all methods alike" in refused.text and not PromptSet.objects.exists()
    experiment = create_experiment(prompt_set=make_set(first=WORDS, reasoning_same=same + " Be kind."))
    monkeypatch.setattr(prompts, "read_own", lambda: {"reasoning_same": same + " Be strict.", "first": "Other."})
    asked = []
    monkeypatch.setattr(prompts, "use_own", lambda texts: asked.append(texts) or nullcontext())
    with prompt_sets.use_chosen_prompts(experiment):
        assert asked == [{"first": WORDS, "reasoning_same": same + " Be strict."}]


def test_an_unchanged_archive_or_a_taken_name_is_refused(admin_client):
    own = {f"{name}.txt": text.encode() for name, text in prompts.read_published().items()}
    assert "Prefine&#x27;s own: change those" in upload(admin_client, set__zip=zips.pack(own)).text
    make_set("paper")
    assert "There is a set paper already" in upload(admin_client, first__txt=WORDS.encode()).text
    assert "The set paper has these very texts" in upload(admin_client, "Other", first__txt=WORDS.encode()).text
    assert "Letters, digits" in upload(admin_client, "icpl:k=3", first__txt=f"{WORDS} Now.".encode()).text
    assert "choose a zip, or texts" in admin_client.post(UPLOAD, {"name": "x"}).text
    assert PromptSet.objects.count() == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EXPERIMENTER])
def test_administrators_alone_upload_and_remove(role):
    row, client = make_set(), signed_in(account(role=role))
    page = client.get(PAGE)
    assert page.status_code == 200 and "Ask one of them" in page.text and "Delete the texts" not in page.text
    assert upload(client, "Other", first__txt=WORDS.encode()).status_code == 403
    assert client.post(reverse("archive:remove_prompts", args=[row.pk])).status_code == 403
    assert PromptSet.objects.get() == row


def test_a_set_that_is_used_stays(admin_client):
    row, place = make_set(), "/bench/data/prompts/{}/remove/"
    experiment = create_experiment(name="Trial", prompt_set=row)
    arm = rows.study(task="Cartpole", title="People", prompt_set=row).arms.get()
    comparison = Comparison.objects.create(
        name="Plan", tasks=["Cartpole"], methods=["icpl", "icpl:prompts=PAPER"], candidates=6, experiments=2
    )
    said = admin_client.post(place.format(row.pk), follow=True).text
    for words in ("the experiment “Trial”", f"the arm “{arm.name} of People”", "the comparison “Plan”"):
        assert f"Paper is used by {words}" in said
    experiment.delete()
    arm.study.delete()
    comparison.delete()
    assert "Paper is removed" in admin_client.post(place.format(row.pk), follow=True).text
    assert not PromptSet.objects.exists() and Entry.objects.get(action="removed prompts").detail == {
        "digest": row.digest
    }


@pytest.mark.django_db(transaction=True)
def test_a_worker_asks_in_the_words_of_the_set(admin_client):
    """It finds them in the database; another experiment asks in Prefine's own. The record replays by itself."""
    row = make_set()
    chosen, other = start_experiment(k=2, n=2, prompt_set=row), start_experiment(k=2, n=2)
    for experiment in (chosen, other):
        assert execute.run_job(find_job(experiment, "advance").pk)
        experiment.refresh_from_db()
    (asked,), (plain,) = find_open_requests(chosen), find_open_requests(other)
    assert asked.payload["messages"][1]["content"].endswith("Write, and take your time.")
    assert asked.version.endswith(f", prompts {row.digest}") and chosen.prompts == {row.digest: row.texts}
    assert "take your time" not in plain.payload["messages"][1]["content"] and other.prompts == {}
    record = upgrades.build_record(chosen)
    assert record.prompts == {row.digest: row.texts} and isinstance(replay(record), Open)
    page = admin_client.get(f"/bench/{chosen.public_id}/").text
    assert (
        f"words of your own (prompts Paper), which its record keeps. Replaced prompts: first (set {row.digest})."
        in page
    )


@pytest.mark.django_db(transaction=True)
def test_a_set_of_another_version_stops_the_experiment_with_the_reason(admin_client):
    """Its texts fitted the version that they were uploaded to."""
    row = make_set(first="$problem $gone")
    experiment = start_experiment(k=2, n=2, prompt_set=row)
    assert execute.run_job(find_job(experiment, "advance").pk)
    experiment.refresh_from_db()
    assert experiment.status == "failed" and "first.txt has unknown $gone" in experiment.error
    assert "It does not fit this version: first.txt has unknown $gone" in admin_client.get(PAGE).text
    PromptSet.objects.update(texts={"first": WORDS})
    assert loop.retry(experiment) and execute.run_job(find_job(experiment, "advance").pk)
    experiment.refresh_from_db()
    assert experiment.status == "running" and find_open_requests(experiment)


def test_an_experiment_a_copy_and_a_repetition_keep_the_choice(admin_client):
    row = make_set()
    page = admin_client.get(reverse("bench:experiment_new")).text
    assert f'<option value="{row.pk}">Paper</option>' in page and "As installed" in page
    plain, chosen = create_experiment(seed=4), create_experiment(seed=0, prompt_set=row)
    assert seeds.find_next_seed(Experiment(task=plain.task, **repeated(plain))) == 5
    assert repeating.copy_settings(chosen).prompt_set == row and repeating.copy_settings(chosen).seed == 1


def repeated(experiment):
    return {name: getattr(experiment, name) for name in repeating.COPIED if name != "task"}


def plan_of(*methods):
    return make_plan(["Cartpole"], methods, 6, 2, "proxy", [], "quick", None, 0, None, "", None, None)


def test_a_variant_of_a_comparison_chooses_its_prompts():
    row = make_set()
    plan = plan_of("icpl:k=3", "icpl:k=3,prompts=paper", "open_loop:k=3,prompts=Paper")
    plain, own, loop_own = plan.arms
    assert own.label == "ICPL (prompts=Paper)" and own.prompt_set == row and plain.prompt_set is None
    cells = {cell.arm: cell for cell in plan.cells() if not cell.index}
    assert plan.draft(cells[own]).prompt_set == row and plan.draft(cells[plain]).prompt_set is None
    before = plan.public_id(cells[own])
    assert before != plan.public_id(cells[plain]) == plan_of("icpl:k=3").public_ids[0]
    assert describe_equal_arms(plan) == []
    assert _describe_settings(plan).count(f" Prompts Paper: hash {row.digest}.") == 1
    assert "equal here" in describe_equal_arms(plan_of("icpl:k=6", "open_loop:k=6"))[0]
    assert describe_equal_arms(plan_of("icpl:k=6,prompts=Paper", "open_loop:k=6")) == []
    PromptSet.objects.update(name="Renamed", texts={"first": WORDS})
    assert plan_of("icpl:k=3,prompts=renamed").public_ids[0] == before, "the texts count, not their name"
    with pytest.raises(ValueError, match="no set of prompts 'Papper'"):
        PromptSet.objects.all().delete()
        parse_arm("icpl:prompts=Papper", 6)
    assert loop_own.method == "open_loop"


def test_arms_of_a_study_differ_by_their_prompts():
    row = make_set()
    study = rows.study(task="Cartpole", k=2, n=2, prompt_set=row)
    rows.arm(study, "B")
    said = dict(preflight.describe_differences(study))
    assert [value for _, value in said["prompts"]] == ["Paper", "as installed"]
    assert preflight.describe_equal_arms(study) == []


def test_a_set_is_found_by_its_name():
    with pytest.raises(ValueError, match="an administrator uploads sets"):
        prompt_sets.find_set("paper")
    make_set()
    assert prompt_sets.find_set("paper").name == "Paper"
    with pytest.raises(ValueError, match="Paper"):
        prompt_sets.find_set("papr")


def test_no_two_sets_are_alike_for_a_variant(admin_client):
    """A comparison reads the name again at every step, in any case and however its words are joined."""
    row = make_set("Paper 1")
    make_set("_", first=f"{WORDS} Take care.")
    comparison = Comparison.objects.create(
        name="Plan", tasks=["Cartpole"], methods=["icpl", "icpl:prompts=paper-1"], candidates=6, experiments=2
    )
    other = PromptSet.objects.get(name="_")
    assert prompt_sets.list_uses([row, other]) == {row.pk: [("comparison", ["Plan"])], other.pk: []}
    before = comparison.plan.public_ids
    said = upload(admin_client, "paper-1", first__txt=f"{WORDS} Now.".encode()).text
    assert "There is a set Paper 1 already" in said and comparison.plan.public_ids == before


def test_a_comparison_keeps_the_name_of_the_set(admin_client):
    make_set("Paper 1")
    form = ComparisonForm(
        {
            **{"tasks": ["Cartpole"], "variants": "Own=icpl:k=3, prompts = paper-1\nopen_loop:k=3"},
            **{"candidates": 6, "experiments": 2, "judge": "proxy", "preset": "quick", "seed": 0, "retrain": 0},
        }
    )
    assert form.is_valid(), form.errors
    assert form.cleaned_data["methods"] == ["Own=icpl:k=3,prompts=Paper 1", "open_loop:k=3"]


def test_a_control_without_feedback_has_the_words_of_its_method():
    make_set()
    methods = ["icpl:k=3,prompts=Paper"]
    told, claims = add_controls(methods, [], ["blind"], [parse_arm(methods[0], 6)])
    blind, plain = (parse_arm(text, 6) for text in claims[-1].split(" = "))
    assert (plain.method, plain.prompt_set) == ("open_loop", blind.prompt_set) and "open_loop" in told[-1]


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_archive_is_refused(admin_client, kind):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.writestr("first.txt", "$problem " + "abcdefgh" * 1000)
    damaged = bytearray(buffer.getvalue())
    damaged[55:85] = b"\xff" * 30
    answer = upload(admin_client, set__zip=bytes(damaged))
    assert answer.status_code == 400 and "set.zip is no readable ZIP archive" in answer.text


def test_the_limits_count_for_the_whole_upload(admin_client, monkeypatch):
    monkeypatch.setattr(prompt_sets, "MOST_FILES", 2)
    parts = {f"part{number}__zip": zips.pack({f"{number}.md": b"", "._x": b""}) for number in range(3)}
    assert "the upload has more than 2 files" in upload(admin_client, **parts).text


def test_a_text_that_is_there_twice_is_named_with_both_paths(admin_client):
    one, two = zips.pack({"a/first.txt": WORDS.encode()}), zips.pack({"first.txt": WORDS.encode()})
    said = upload(admin_client, one__zip=one, two__zip=two).text
    assert "first.txt is there twice, as one.zip/a/first.txt and two.zip/first.txt: leave one out" in said


@pytest.fixture
def packed(tmp_path):
    """The export of a study with one set of prompts, which is then deleted here."""
    study = rows.study(task="Cartpole", k=2, n=2, prompt_set=make_set())
    write_export(study, tmp_path / "study.zip", clips=False)
    study.delete()
    PromptSet.objects.all().delete()
    return tmp_path / "study.zip"


def import_as(user, path):
    task = Import.objects.create(by=user.get_username(), name=path.name)
    with path.open("rb") as file:
        store.publish(task.key, file)
    importer.run_import(task, work.Work(task))
    task.refresh_from_db()
    return task.study


@pytest.mark.slow
def test_an_import_brings_sets_for_administrators_alone(packed):
    arm = import_as(account(role=Role.EXPERIMENTER), packed).arms.get()
    assert arm.prompt_set is None and not PromptSet.objects.exists()
    make_set("paper.", first=f"{WORDS} Now.")
    boss = account("boss", Role.ADMINISTRATOR)
    study = import_as(boss, packed)
    row = study.arms.get().prompt_set
    assert row.name == "Paper (imported)", "a variant could mean the set that is here by it"
    entry = Entry.objects.get(action="imported prompts")
    assert (entry.actor, entry.detail["prompts"], entry.detail["study"]) == ("boss", ["first"], study.pk)


@pytest.mark.slow
def test_an_imported_text_has_the_name_of_a_prompt(packed, tmp_path):
    texts = edit_table(open_zip(packed), "prompt_sets", lambda found: [{**found[0], "texts": {"../../x": "hello"}}])
    path = repack(packed, tmp_path / "hostile.zip", {"tables/prompt_sets.json": texts})
    with pytest.raises(Refused, match="a text whose name no prompt has"):
        importer.restore(path, "command line")


def test_more_sets_cost_the_page_no_more_queries(admin_client, django_assert_max_num_queries):
    for number in range(6):
        make_set(f"Paper {number}", first=f"{WORDS} {number}")
    with django_assert_max_num_queries(14):
        assert "Paper 5" in admin_client.get(PAGE).text
