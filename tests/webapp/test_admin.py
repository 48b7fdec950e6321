"""Every page of the admin, and the pages of the bench that make and change experiments."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse

from llm.methods import METHODS
from tests.webapp import bench_rows, fake_workers, rows
from tests.webapp.forms import experiment_form
from webapp.audit.models import Entry
from webapp.bench.admin.bench_admin import FormPageAdmin, NewestFilter
from webapp.bench.experiments.forms import ExperimentForm
from webapp.experiments import loop
from webapp.experiments.models import Experiment, LanguageModel
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def every_page():
    for model in admin.site._registry:
        yield reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    yield reverse("admin:index")


INLINE = r"<style|<script(?![^>]*(?:\bsrc=|application/json))|<[^>]*\s(?:style|on\w+)="
"""Styles and scripts within a page, which the policy refuses."""


def check_page(staff, address):
    answer = staff.get(address)
    assert answer.status_code == 200, address
    found = re.search(INLINE, answer.content.decode())
    assert not found, f"{address}: {found[0][-80:]}"


@pytest.mark.parametrize("html", ['<p style="a">', "<p class='a' onclick='b()'>", "<style>", '<script type="module">'])
def test_what_is_inline_is_found(html):
    assert re.search(INLINE, html)


def test_all_lists_and_forms_open_and_have_nothing_inline(staff):
    for page in every_page():
        check_page(staff, page)
    pages = ("admin:studies_study_add", "admin:problems_problem_add", "votes:new")
    for new in (*pages, "bench:experiment_new", "bench:model_new"):
        check_page(staff, reverse(new))
    bench_rows.create_finished_experiment(n=1, failed=(1,), clips=False)
    rows.open_judgement(rows.participant())
    LanguageModel.objects.create(
        name="M", kind="openai", base_url="https://x.example", model="m", api_key=bench_rows.KEY
    )
    for page in every_page():
        check_page(staff, page)
    for model in admin.site._registry:
        if row := model._default_manager.first():
            change = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
            moved = isinstance(admin.site._registry[model], FormPageAdmin)
            check_page(staff, staff.get(change).url if moved else change)


def test_what_is_made_on_the_bench_is_not_made_in_the_admin(staff):
    model, row = LanguageModel.objects.create(name="M", kind="offline"), fake_workers.create_experiment()
    poll = Poll.objects.create(title="V")
    moved = {
        reverse("admin:votes_poll_change", args=[poll.pk]): reverse("votes:setup", args=[poll.public_id]),
        reverse("admin:experiments_experiment_change", args=[row.pk]): reverse(
            "bench:experiment_edit", args=[row.public_id]
        ),
        reverse("admin:experiments_experiment_add"): reverse("bench:experiment_new"),
        reverse("admin:experiments_languagemodel_add"): reverse("bench:model_new"),
        reverse("admin:experiments_languagemodel_change", args=[model.pk]): reverse(
            "bench:model_edit", args=[model.pk]
        ),
        reverse("admin:votes_poll_add"): reverse("votes:new"),
    }
    for old, new in moved.items():
        assert staff.get(old).url == new
        assert staff.get(f"{old}?task=Ant&kind=answers").url == f"{new}?task=Ant&kind=answers"
        assert staff.get(new, {"task": "Humanoid", "copy": "none"}).status_code == 200
    assert '<option value="Humanoid" selected>' in staff.get(reverse("bench:experiment_new"), {"task": "Humanoid"}).text


def test_a_page_says_where_it_is_without_saying_it_twice(staff):
    experiment = bench_rows.create_finished_experiment(n=1, clips=False, name="E")
    places = {
        reverse("admin:index"): ["Set up"],
        reverse("admin:studies_study_add"): ["Set up", "Studies", "New study"],
        reverse("admin:experiments_experiment_changelist"): ["Set up", "Experiments"],
        reverse("admin:experiments_experiment_delete", args=[experiment.pk]): ["Set up", "Experiments", "E", "Delete"],
        reverse("admin:problems_upload"): ["Set up", "Problems", "Import problems"],
    }
    for address, parts in places.items():
        page = staff.get(address).content.decode()
        above = re.search(r'<nav class="crumb".*?</nav>', page, re.DOTALL)
        named = re.findall(r"<a[^>]*>(.*?)</a>", above[0]) if above else []
        assert [*named, *re.findall(r"<h1>(.*?)</h1>", page)] == parts


def test_a_group_of_boxes_is_described_by_its_help(staff):
    page = staff.get(reverse("admin:auth_user_change", args=[User.objects.get().pk])).content.decode()
    group = re.search(r'<div[^>]*role="group" aria-labelledby="id_extra_rights_label"[^>]*>', page)[0]
    assert 'aria-describedby="id_extra_rights_helptext"' in group
    assert '<div class="help" id="id_extra_rights_helptext">For viewers and experimenters' in page


def test_states_are_words_as_on_the_bench(staff):
    rows.study(status="draft")
    assert (
        '<span class="pill paused">Draft</span>'
        in staff.get(reverse("admin:studies_study_changelist")).content.decode()
    )


def test_nobody_else_sees_anything(client):
    person = rows.participant()
    client.get(person.get_absolute_url())
    plain = User.objects.create(username="eve")
    for user in (None, plain):
        if user:
            client.force_login(user)
        for page in every_page():
            answer = client.get(page)
            assert answer.status_code == 302 and "/admin/login/" in answer.url, page


@pytest.mark.parametrize("name", ["request", "job", "modelcall", "event", "candidate", "clip", "run", "iteration"])
def test_rows_of_the_loop_cannot_be_changed(staff, name):
    bench_rows.create_finished_experiment(n=1)
    row = next(m for m in admin.site._registry if m._meta.model_name == name)._default_manager.first()
    address = f"admin:experiments_{name}"
    assert "Nobody has changed it in these forms" in staff.get(reverse(f"{address}_history", args=[row.pk])).text
    assert staff.get(reverse(f"{address}_add")).status_code == 403
    assert staff.post(reverse(f"{address}_change", args=[row.pk]), {"error": "x"}).status_code == 403
    assert staff.post(reverse(f"{address}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403


# --- experiments ----------------------------------------------------------------------------------------------


def test_a_new_experiment_leads_to_its_live_page(staff):
    answer = staff.post(reverse("bench:experiment_new"), experiment_form())
    row = Experiment.objects.get()
    assert answer.url == reverse("bench:experiment", args=[row.public_id])
    assert (row.status, row.owner) == ("draft", "ada")
    assert Entry.objects.get(action="added").target_id == str(row.pk)
    assert "E is saved. Nothing runs before you start it." in staff.get(answer.url).text


@pytest.mark.parametrize(
    "values, words",
    [
        ({"task": "HumanoidJump"}, "HumanoidJump has no metric: a person or a language model can judge it."),
        ({"judge": "human"}, "set up a study"),
        ({"k": 1}, "ICPL needs at least 2 candidates per round."),
        ({"n": 101}, "less than or equal to 100"),
        ({"task": "Nonsense"}, "Nonsense is not one of the available choices"),
        ({"options": "reasons = perhaps"}, "option reasons: &#x27;perhaps&#x27; is not true or false"),
        ({"options": "magic = 1"}, "ICPL has no option &#x27;magic&#x27;; it has: reasons, measures, ranks"),
        ({"options": "reasons"}, "&#x27;reasons&#x27; is not an option: write it as name=value"),
        ({"judge_options": "mistake = 2"}, "option mistake: &#x27;2&#x27; is not between 0 and 1"),
        ({"method": "nonsense"}, "nonsense is not one of the available choices"),
        ({"method": "rda", "options": "analyst = frames"}, "shown to a vision model: choose one"),
        ({"judge": "model", "judge_options": "frames = 2"}, "shown to a vision model: choose one"),
    ],
)
def test_validation_explains(staff, values, words):
    answer = staff.post(reverse("bench:experiment_new"), experiment_form(**values))
    assert answer.status_code == 422 and not Experiment.objects.exists()
    assert words in answer.content.decode()


def test_a_missing_vision_model_is_an_error_at_its_field(staff):
    values = experiment_form(judge="model", judge_options="frames = 2")
    answer = staff.post(reverse("bench:experiment_new"), values)
    assert list(answer.context["form"].errors) == ["vision"]


def test_people_are_offered_as_judges_to_experiments_of_studies_alone(staff):
    def list_judges(**values):
        return [name for name, _ in ExperimentForm(**values).fields["judge"].choices]

    assert list_judges() == list_judges(instance=fake_workers.create_experiment()) == ["proxy", "model"]
    asked = rows.participant().experiment
    asked.status = "draft"
    assert "human" in list_judges(instance=asked)
    page = staff.get(reverse("bench:experiment_new")).content.decode()
    assert "data-refused=" in page and '<option value="human"' not in page
    assert ">Offline writer (no language model)</option>" in page


def test_an_empty_seed_counts_up_among_equal_experiments(staff):
    add = reverse("bench:experiment_new")
    assert re.search(r'<input type="number" name="seed"(?![^>]*(value|required))', staff.get(add).content.decode())
    for number, values in enumerate(({}, {"options": "reasons = true"}, {"seed": 7}, {}, {"k": 4}, {"seed": 0})):
        staff.post(add, experiment_form(**{"name": number, "seed": "", **values}))
    assert list(Experiment.objects.order_by("name").values_list("seed", flat=True)) == [0, 1, 7, 8, 0, 0]


def test_options_are_typed_as_lines_and_shown_again(staff):
    lines = {"method": "revolve_human", "options": "islands = 4\nreasons = false\n", "judge_options": "beta = 5"}
    staff.post(reverse("bench:experiment_new"), experiment_form(**lines))
    row = Experiment.objects.get()
    assert (row.options, row.judge_options) == ({"islands": 4, "reasons": False}, {"beta": 5.0})
    page = staff.get(reverse("bench:experiment_edit", args=[row.public_id])).content.decode()
    assert "islands = 4\nreasons = false</textarea>" in page and "beta = 5.0</textarea>" in page
    assert "Populations that evolve side by side." in page and METHODS["eureka"].summary in page


def test_a_started_experiment_keeps_its_settings(staff):
    row = bench_rows.create_finished_experiment(n=1)
    page = reverse("bench:experiment_edit", args=[row.public_id])
    staff.post(page, experiment_form(name="renamed", k=9, task="Ant"))
    row.refresh_from_db()
    assert (row.name, row.k, row.task) == ("renamed", 3, "Cartpole")


def test_one_whose_settings_would_be_refused_today_can_be_renamed_and_goes_on_meanwhile(staff, monkeypatch):
    row = bench_rows.create_training_experiment()
    Experiment.objects.update(options={"gone": 1}, k=0)
    monkeypatch.setattr(ExperimentForm, "clean_name", went_on, raising=False)
    page = reverse("bench:experiment_edit", args=[row.public_id])
    assert staff.post(page, experiment_form(name="renamed")).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.status, row.options) == ("renamed", "finished", {"gone": 1})


def went_on(form):
    """The loop, while the form is looked at."""
    Experiment.objects.update(status="finished")
    return form.cleaned_data["name"]


def test_actions_go_through_the_loop(staff):
    row = fake_workers.create_experiment()
    page = reverse("admin:experiments_experiment_changelist")

    def act(action):
        answer = staff.post(page, {"action": action, "_selected_action": [row.pk]}, follow=True)
        row.refresh_from_db()
        return answer.content.decode()

    assert "started" in act("start") and row.status == "running" and row.jobs.count() == 1
    assert "Nothing was started" in act("start")
    assert "paused" in act("pause") and row.paused
    assert "resumed" in act("resume") and not row.paused
    assert "cancelled" in act("cancel") and row.status == "cancelled"
    assert [e.kind for e in row.events.all()] == ["started", "paused", "resumed", "cancelled"]


def test_a_live_experiment_is_not_deleted(staff):
    row = fake_workers.create_experiment(status="running")
    staff.post(reverse("admin:experiments_experiment_delete", args=[row.pk]), {"post": "yes"})
    assert Experiment.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("where", ["delete", "changelist"])
def test_an_ended_experiment_is_deleted_with_what_its_participant_gave(staff, where):
    person = rows.participant()
    rows.create_round(person)
    shown = find_screening(rows.open_judgement(person), person)
    ballot.cast_vote(person, shown.token, ballot.Choice("A", "B", reason="It runs."))
    row = person.experiment
    form = {"post": "yes", "action": "delete_selected", "_selected_action": [row.pk]}
    address = reverse(f"admin:experiments_experiment_{where}", args=[row.pk] if where == "delete" else [])
    assert staff.post(address, form).status_code == 403, "it is live"
    assert Vote.objects.exists()
    loop.cancel(row)
    assert staff.post(address, form).status_code == 302
    assert not Experiment.objects.exists() and not Vote.objects.exists()


def test_the_admin_has_the_policy_of_all_pages(staff, client):
    signed_out = [reverse("admin:login"), "/"]
    answers = [*map(staff.get, [*every_page(), reverse("bench:index")]), *map(client.get, signed_out)]
    (policy,) = {answer["Content-Security-Policy"] for answer in answers}
    assert "unsafe" not in policy and "default-src 'none'" in policy


def test_a_filter_of_many_rows_offers_the_newest_and_the_chosen_one(staff, monkeypatch):
    monkeypatch.setattr(NewestFilter, "MOST", 2)
    old, *_ = [fake_workers.create_experiment(name=name) for name in ("oldest", "older", "new", "newest")]
    jobs = reverse("admin:experiments_job_changelist")
    offered = r'<li><a href="\?experiment__id__exact=\d+"[^>]*>([^<]*)</a></li>'
    page = staff.get(jobs).content.decode()
    assert re.findall(offered, page) == ["newest", "new"] and "search the list for its name" in page
    page = staff.get(jobs, {"experiment__id__exact": old.pk}).content.decode()
    assert re.findall(offered, page)[-3:] == ["newest", "new", "oldest"], "behind the other filters' All"
