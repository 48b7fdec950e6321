"""Problems as tasks: settings that fit them, what a model is told, sets as YAML, what is kept."""

import html
import re
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.urls import reverse

from llm.forms import find_form
from llm.methods import OFFERED
from tests.webapp import rows
from tests.webapp.problem_rows import PNG, SET, files, stored
from webapp.base import zips
from webapp.experiments.judges import JUDGES
from webapp.experiments.kinds import write
from webapp.experiments.models import Experiment, LanguageModel, Request
from webapp.experiments.models.loop_settings import TrainingStart, find_refused
from webapp.problems import lookup, problem_sets
from webapp.problems.models import Attachment, Problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def problems():
    return {problem.name: problem for problem in problem_sets.import_set(files())}


@pytest.fixture
def model():
    return LanguageModel.objects.create(
        name="m", kind=LanguageModel.Kind.OPENAI, base_url="http://127.0.0.1:9/v1", model="m"
    )


def experiment(**values):
    return Experiment(
        **{"name": "e", "task": "sum", "method": "scaling_3d", "judge": "proxy", "k": 5, "n": 3, **values}
    )


def test_a_set_is_imported_with_its_files_and_exported_the_same(problems):
    again = problem_sets.export_set(Problem.objects.all())
    problem_sets.import_set(problem_sets.read_bytes("set.zip", zips.pack(again)))
    assert problem_sets.export_set(Problem.objects.all()) == again
    assert Problem.objects.count() == 2 and Attachment.objects.count() == 1
    add = Problem.objects.get(name="add")
    assert [(c.subtask, c.stdin, c.expected) for c in add.test_cases()] == [(1, "1 2", "3"), (2, "10 20\n", "30\n")]
    assert add.points() == {1: 30, 2: 70} and add.metric == "share of points"


def test_files_leave_the_disk_with_their_rows(problems, django_capture_on_commit_callbacks):
    (attachment,) = Attachment.objects.all()
    with django_capture_on_commit_callbacks(execute=True):
        attachment.file = ContentFile(PNG, "other.png")
        attachment.save()
    assert stored() == [Path(attachment.file.name).name]
    with django_capture_on_commit_callbacks(execute=True):
        problem_sets.import_set(files())
    assert stored() == [Path(Attachment.objects.get().file.name).name]
    with django_capture_on_commit_callbacks(execute=True):
        problems["sum"].delete()
    assert stored() == []


def test_a_model_is_told_the_problem_and_never_the_reference_or_a_case(problems):
    stated = lookup.to_record(problems["sum"])
    text = str(find_form(stated).first_prompt)
    assert "1 + 2" in text and "## Final answer" in text
    assert "5050" not in text and "Pair them" not in text
    told = str(find_form(lookup.to_record(problems["add"])).first_prompt)
    assert "Python 3" in told and "10 20" not in told
    assert lookup.read_pictures(problems["sum"])[0].startswith("data:image/png;base64,")


def test_settings_that_fit_a_problem(problems, model):
    experiment(model=model).full_clean()
    experiment(model=model, judge="human").full_clean()


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"task": "nothing"}, "task", "unknown task"),
        ({"method": "eureka"}, "method", "Problems are solved by: ICPL; "),
        ({"model": None}, "model", "solves no problems"),
        ({"task": "open"}, "judge", "Prove a thing has no metric"),
        ({"task": "open", "judge": "model", "method": "scaling_batch_score"}, "method", "no metric"),
    ],
)
def test_settings_that_do_not(problems, model, values, field, said):
    Problem.objects.create(name="open", title="Prove a thing", statement="Prove it.")
    with pytest.raises(ValidationError) as refused:
        experiment(**{"model": model, **values}).full_clean()
    assert said in " ".join(refused.value.message_dict[field])


@pytest.mark.parametrize(
    "field, choices", [("method", OFFERED), ("judge", JUDGES), ("training_start", TrainingStart.values)]
)
def test_what_a_form_leaves_out_is_what_the_task_refuses(problems, model, field, choices):
    Problem.objects.create(name="open", title="Open", statement="Prove it.")
    refused = find_refused(field)
    assert "Humanoid" not in refused
    for task in ("sum", "open", "Humanoid", "HumanoidJump", "Cartpole"):
        for name in choices:
            values = {"method": "scaling_3d", "judge": "model", field: name}
            try:
                experiment(task=task, model=model, **values).clean()
                errors = {}
            except ValidationError as error:
                errors = error.message_dict
            assert (field in errors) == (name in refused.get(task, [])), (task, name, errors)


def test_where_there_is_no_problem_yet_it_says_how_to_get_some():
    with pytest.raises(ValueError, match="import_problems examples/problems"):
        lookup.find_task("staircase")


def test_a_problem_in_use_is_kept(problems, model):
    experiment(model=model).save()
    with pytest.raises(ProtectedError), transaction.atomic():
        problems["sum"].delete()
    problems["add"].delete()


@pytest.mark.parametrize("used", ["experiment", "arm"])
def test_one_in_use_is_not_deleted_in_the_admin_which_says_why(admin_client, problems, model, used):
    if used == "experiment":
        experiment(model=model, name="First try").save()
        said = "is used by the experiment “First try”"
    else:
        rows.study(task="sum")
        said = "is used by the arm “A of Robots that learn to walk”"
    every = [problem.pk for problem in problems.values()]
    chosen = {"action": "delete_selected", "_selected_action": every, "post": "yes"}
    for address, fields in (
        (f"/admin/problems/problem/{problems['sum'].pk}/delete/", {"post": "yes"}),
        ("/admin/problems/problem/", chosen),
    ):
        answer = admin_client.post(address, fields)
        assert answer.status_code == 200 and "Cannot delete problem" in answer.content.decode()
        assert f"A sum (sum) {said}" in answer.content.decode()
    assert Problem.objects.count() == 2 and Attachment.objects.exists()
    deleted = admin_client.post(f"/admin/problems/problem/{problems['add'].pk}/delete/", {"post": "yes"})
    assert deleted.status_code == 302 and Problem.objects.get().name == "sum"


@pytest.mark.slow
def test_sets_are_uploaded_and_downloaded_in_the_admin(admin_client, problems):
    listed = admin_client.get("/admin/problems/problem/")
    assert listed.status_code == 200 and b"A sum" in listed.content
    exported = admin_client.post(
        "/admin/problems/problem/",
        {"action": "export", "_selected_action": [problem.pk for problem in problems.values()]},
    )
    assert exported["Content-Type"] == "application/zip"
    Problem.objects.all().delete()
    form = admin_client.get("/admin/problems/problem/upload/").content.decode()
    assert '<input type="file" name="file"' in form
    upload = SimpleUploadedFile("problems.zip", exported.content)
    assert admin_client.post("/admin/problems/problem/upload/", {"file": upload}).status_code == 302
    assert Problem.objects.count() == 2
    bad = admin_client.post("/admin/problems/problem/upload/", {"file": SimpleUploadedFile("a.yaml", b"- 1")})
    assert b"Nothing was imported" in bad.content
    page = admin_client.get(f"/admin/problems/problem/{Problem.objects.get(name='add').pk}/change/")
    assert page.status_code == 200 and b"Subtask" in page.content


def test_programs_are_typed_in_fields_for_code(admin_client):
    page = admin_client.get(reverse("admin:problems_problem_add")).content.decode()
    code = {
        name
        for tag in re.findall(r"<(?:textarea|input)[^>]*prefine-code[^>]*>", page)
        for name in re.findall(r'name="([^"]+)"', tag)
    }
    assert {"header_name", "header", "grader", "checker", "cases-__prefix__-stdin", "cases-__prefix__-expected"} <= code
    assert "statement" not in code


def test_what_is_written_is_previewed_as_people_read_it(admin_client):
    page = admin_client.get("/admin/problems/problem/add/").content.decode()
    address = re.search('data-problem-preview="(.*?)"', page)[1]
    assert all(name in page for name in ("katex.min.js", "studio/formulas.js", "bench/problem_preview.js"))
    shown = admin_client.post(address, {"text": "A $x^2$ <script>"}).content.decode()
    assert shown == '<p>A <span class="math" data-display="no">x^2</span> &lt;script&gt;</p>\n'
    admin_client.force_login(User.objects.create(username="eve", is_staff=True))
    assert admin_client.post(address, {"text": "A"}).status_code == 403


def test_a_lone_yaml_takes_its_missing_files_afterwards(admin_client):
    def send(address, *uploads):
        sent = [SimpleUploadedFile(name, data) for name, data in uploads]
        return admin_client.post(address, {"file": sent} if address.endswith("upload/") else {"files": sent})

    more = SET.replace("attachments: [", "attachments: [{file: a/pairs.png}, ")
    page = send("/admin/problems/problem/upload/", ("set.yaml", more.encode())).url
    text = admin_client.get(page).content.decode()
    names = ("a/pairs.png", "figures/pairs.png", "tests/2.in", "tests/2.out")
    assert all(f"<code>{name}</code>" in text for name in names) and not Problem.objects.exists()
    text = send(page, ("2.in", b"10 20"), ("pairs.png", PNG)).content.decode()
    assert [f"<code>{name}</code>" in text for name in names] == [True, True, False, True]
    assert "no missing file like pairs.png" in text, "which of the two it is, nobody can tell"
    broken = send(page, ("set.yaml", b"- 1"), ("2.out", b"30")).content.decode()
    assert "The new .yaml is not taken" in broken and "<code>tests/2.out</code>" not in broken
    assert "a/pairs.png" not in send(page, ("set.yaml", SET.encode())).content.decode()
    done = send(page, ("pairs.png", PNG))
    assert done.status_code == 302 and Problem.objects.count() == 2
    with Attachment.objects.get().file.open() as file:
        assert file.read() == PNG
    assert admin_client.get(page).url == "/admin/problems/problem/upload/"


CASES = [("\n3\n a  b \n", " yes\n\n"), ("1", "2")]
"""Input and expected output; white space in front and at the end is part of them."""


def shown(page, name):
    """What a browser posts of a text area that nobody touched."""
    text = html.unescape(re.search(f'<textarea name="{name}".*?>(.*?)</textarea>', page, re.DOTALL)[1])
    return text.removeprefix("\n").replace("\n", "\r\n")


@pytest.mark.slow
def test_cases_go_through_the_admin_as_they_are(admin_client, problems):
    add = problems["add"]
    add.cases.all().delete()
    rows = [add.cases.create(subtask=1, stdin=stdin, expected=expected) for stdin, expected in CASES]
    address = f"/admin/problems/problem/{add.pk}/change/"
    page = admin_client.get(address).content.decode()
    sent = {f"{group}-{count}_FORMS": 0 for group in ("attachments", "subtasks") for count in ("TOTAL", "INITIAL")}
    sent |= {"title": "Sums", "subject": "programming", "form": "program", "language": "cpp", "statement": "s"}
    sent |= {"tolerance": 0, "cpu_seconds": 2, "memory_mb": 256, "cases-TOTAL_FORMS": 3, "cases-INITIAL_FORMS": 2}
    for number, row in enumerate(rows):
        sent |= {f"cases-{number}-{name}": shown(page, f"cases-{number}-{name}") for name in ("stdin", "expected")}
        sent |= {f"cases-{number}-id": row.pk, f"cases-{number}-problem": add.pk, f"cases-{number}-subtask": 1}
    new = {"cases-2-problem": add.pk, "cases-2-subtask": 2, "cases-2-stdin": "5\r\n6\r\n", "cases-2-expected": "11"}
    assert admin_client.post(address, {**sent, **new}).status_code == 302
    add.refresh_from_db()
    assert [(case.stdin, case.expected) for case in add.test_cases()] == [*CASES, ("5\n6\n", "11")]
    said = LogEntry.objects.latest("pk").get_change_message()
    assert "Added test case" in said and "Changed input" not in said


def test_cases_that_were_kept_with_other_ends_of_lines_are_read_and_exported_with_these(problems):
    with connection.cursor() as cursor:  # as an earlier version kept them
        cursor.execute("UPDATE problems_testcase SET stdin = %s WHERE subtask = 2", ["10\r\n20\r\n"])
    assert [case.stdin for case in problems["add"].test_cases()] == ["1 2", "10\n20\n"]
    assert b"\\r" not in problem_sets.export_set(Problem.objects.filter(name="add"))["problems.yaml"]


@pytest.mark.slow
def test_files_are_opened_in_the_admin_by_those_who_may_see_problems(admin_client, client, problems):
    attachment = Attachment.objects.get()
    page = admin_client.get(f"/admin/problems/problem/{attachment.problem_id}/change/").content.decode()
    address = re.search(r'href="(/admin/problems/problem/attachment/\d+/)"', page)[1]
    assert attachment.file.name not in page
    seen = admin_client.get(address)
    assert (seen["Content-Type"], seen.content) == ("image/png", PNG)
    client.force_login(User.objects.create_user("helper", is_staff=True))
    assert client.get(address).status_code == 403
    attachment.file.storage.delete(attachment.file.name)
    assert admin_client.get(address).status_code == 404


def test_the_forms_of_experiments_offer_problems(admin_client, problems):
    page = admin_client.get("/bench/new/")
    assert page.status_code == 200 and b'<option value="add">Add two numbers</option>' in page.content


@pytest.mark.parametrize(("task", "said"), [("add", "Round 1: 1 answer written"), ("Ant", "Round 1: 1 reward written")])
def test_the_log_says_what_was_written(problems, model, task, said):
    row = experiment(task=task, model=model)
    row.save()
    asked = Request.objects.create(experiment=row, step=0, kind="Write", fingerprint="f", payload={"iteration": 1})
    write.record_result(row, asked, [{"id": "1-0", "source": "text", "parent": None}])
    assert row.events.get(kind="written").text == said


@pytest.mark.django_db
def test_example_problems_by_one_click(admin_client):
    address = reverse("bench:example_problems")
    admin_client.post(address)
    assert Problem.objects.filter(name="staircase").exists() and Attachment.objects.exists()
    Problem.objects.filter(name="staircase").update(title="Mine now")
    Problem.objects.exclude(name="staircase").first().delete()
    admin_client.post(address)
    assert Problem.objects.get(name="staircase").title == "Mine now", "what exists stays"
