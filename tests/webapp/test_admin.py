import http.server
import json
import threading

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse

from llm.methods import METHODS
from tests.webapp import boards, loops, rows
from webapp.audit.models import Entry as AuditEntry
from webapp.experiments import loop
from webapp.experiments.models import Experiment, LanguageModel
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import screening_of
from webapp.studies import enrolment
from webapp.studies.admin import invite
from webapp.studies.models import Participant, Study

pytestmark = pytest.mark.django_db
KEY = boards.KEY


@pytest.fixture
def staff(client):
    client.force_login(boards.staff())
    return client


def experiment_form(**values):
    defaults = {"name": "E", "task": "Ant", "method": "icpl", "judge": "proxy", "k": 6, "n": 5, "preset": "quick"}
    return {**defaults, "seed": 0, "model": "", **values}


STUDY = {
    **{"title": "S", "contact": "c", "description": "", "seed": 0, "consent_version": "1", "instructions": ""},
    **{"consent_text": "You watch robots and say which you like best. You may stop.", "most_attempts": 2},
    **{"debriefing": "", "thanks_text": "", "ethics_protocol": "2026-17", "ethics_expires_on": "2999-12-31"},
    **{"retention_days": 3650, "quota": "", "experiments_each": 1, "assignment": "balanced"},
    **{"parameter_person": "PROLIFIC_PID", "parameter_study": "STUDY_ID", "parameter_session": "SESSION_ID"},
}
ARM = {"name": "A", "position": 0, "task": "Ant", "method": "icpl", "k": 6, "n": 5, "preset": "quick", "panel": 1}


def study_form(*arms, study=None, questions=(), codes=(), **values):
    """What the form of a study sends, with an arm for each of `arms` (one by default)."""
    given = {**STUDY, **values}
    rows = {"arms": [{**ARM, **arm} for arm in arms or ({},)], "questions": questions, "codes": codes}
    for name, forms in rows.items():
        old = list(getattr(study, name).all()) if study else []
        given |= {f"{name}-TOTAL_FORMS": len(forms), f"{name}-INITIAL_FORMS": len(old)}
        for number, form in enumerate(forms):
            pk = {"id": old[number].pk} if number < len(old) else {}
            given |= {f"{name}-{number}-{field}": value for field, value in {**form, **pk}.items()}
    return given


def model_form(**values):
    return {"name": "M", "kind": "openai", "base_url": "https://x.example/v1", "model": "m", "api_key": "", **values}


def every_page():
    for model in admin.site._registry:
        yield reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    yield reverse("admin:index")


def test_every_list_opens_without_and_with_rows(staff):
    for page in every_page():
        assert staff.get(page).status_code == 200, page
    boards.played(n=1, failed=(1,), clips=False)
    rows.judging(rows.participant())
    LanguageModel.objects.create(name="M", kind="openai", base_url="https://x.example", model="m", api_key=KEY)
    for page in every_page():
        assert staff.get(page).status_code == 200, page
    for model in admin.site._registry:
        if row := model._default_manager.first():
            page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
            assert staff.get(page).status_code == 200, page


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
    boards.played(n=1)
    row = next(m for m in admin.site._registry if m._meta.model_name == name)._default_manager.first()
    address = f"admin:experiments_{name}"
    assert staff.get(reverse(f"{address}_add")).status_code == 403
    assert staff.post(reverse(f"{address}_change", args=[row.pk]), {"error": "x"}).status_code == 403
    assert staff.post(reverse(f"{address}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403


# --- experiments ----------------------------------------------------------------------------------------------


def test_a_new_experiment_leads_to_its_live_page(staff):
    answer = staff.post(reverse("admin:experiments_experiment_add"), experiment_form())
    row = Experiment.objects.get()
    assert answer.url == reverse("bench:experiment", args=[row.public_id])
    assert row.status == "draft"


@pytest.mark.parametrize(
    "values, words",
    [
        ({"task": "HumanoidJump"}, "HumanoidJump has no metric: only a person can judge it."),
        ({"judge": "human"}, "set up a study"),
        ({"k": 1}, "ICPL needs at least 2 candidates per iteration."),
        ({"n": 101}, "less than or equal to 100"),
        ({"task": "Nonsense"}, "Nonsense is not one of the available choices"),
        ({"options": "reasons = perhaps"}, "option reasons: &#x27;perhaps&#x27; is not true or false"),
        ({"options": "magic = 1"}, "ICPL has no option &#x27;magic&#x27;; it has: reasons, measures, diverse"),
        ({"options": "reasons"}, "&#x27;reasons&#x27; is not an option: write it as name=value"),
        ({"judge_options": "mistake = 2"}, "option mistake: &#x27;2&#x27; is not between 0 and 1"),
        ({"method": "nonsense"}, "nonsense is not one of the available choices"),
    ],
)
def test_validation_explains(staff, values, words):
    answer = staff.post(reverse("admin:experiments_experiment_add"), experiment_form(**values))
    assert answer.status_code == 200 and not Experiment.objects.exists()
    assert words in answer.content.decode()


def test_options_are_typed_as_lines_and_shown_again(staff):
    lines = {"method": "revolve_human", "options": "islands = 4\nreasons = false\n", "judge_options": "beta = 5"}
    staff.post(reverse("admin:experiments_experiment_add"), experiment_form(**lines))
    row = Experiment.objects.get()
    assert (row.options, row.judge_options) == ({"islands": 4, "reasons": False}, {"beta": 5.0})
    page = staff.get(reverse("admin:experiments_experiment_change", args=[row.pk])).content.decode()
    assert "islands = 4\nreasons = false</textarea>" in page and "beta = 5.0</textarea>" in page
    assert "Populations that evolve side by side." in page and METHODS["eureka"].summary in page


def test_what_a_method_cannot_do_is_said(staff):
    page = reverse("admin:experiments_experiment_add")
    words = staff.post(page, experiment_form(task="HumanoidJump", method="eureka", judge="model")).content.decode()
    assert "HumanoidJump has no metric, and Eureka cannot do without one." in words
    assert not Experiment.objects.exists()


def test_a_started_experiment_keeps_its_settings(staff):
    row = boards.played(n=1)
    page = reverse("admin:experiments_experiment_change", args=[row.pk])
    staff.post(page, experiment_form(name="renamed", k=9, task="Ant"))
    row.refresh_from_db()
    assert (row.name, row.k, row.task) == ("renamed", 3, "Cartpole")


def test_actions_go_through_the_loop(staff):
    row = loops.experiment()
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
    row = loops.experiment(status="running")
    staff.post(reverse("admin:experiments_experiment_delete", args=[row.pk]), {"post": "yes"})
    assert Experiment.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("where", ["delete", "changelist"])
def test_an_ended_experiment_is_deleted_with_what_its_participant_gave(staff, where):
    person = rows.participant()
    rows.round_of(person)
    shown = screening_of(rows.judging(person), person)
    ballot.cast(person, shown.token, ballot.Choice("A", "B", reason="It runs."))
    row = person.experiment
    form = {"post": "yes", "action": "delete_selected", "_selected_action": [row.pk]}
    address = reverse(f"admin:experiments_experiment_{where}", args=[row.pk] if where == "delete" else [])
    assert staff.post(address, form).status_code == 403, "it is live"
    assert Vote.objects.exists()
    loop.cancel(row)
    assert staff.post(address, form).status_code == 302
    assert not Experiment.objects.exists() and not Vote.objects.exists()


# --- language models ------------------------------------------------------------------------------------------


def test_the_key_is_kept_and_never_shown(staff):
    staff.post(reverse("admin:experiments_languagemodel_add"), model_form(api_key=KEY))
    model = LanguageModel.objects.get()
    assert model.api_key == KEY
    page = reverse("admin:experiments_languagemodel_change", args=[model.pk])
    history = reverse("admin:experiments_languagemodel_history", args=[model.pk])
    refused = staff.post(page, model_form(api_key=KEY, base_url="no address"))
    shown = [staff.get(address) for address in (page, history, reverse("admin:experiments_languagemodel_changelist"))]
    assert all(KEY not in answer.content.decode() for answer in (refused, *shown))

    staff.post(page, model_form(name="renamed"))
    model.refresh_from_db()
    assert (model.name, model.api_key) == ("renamed", KEY)
    staff.post(page, model_form(forget_key="on"))
    model.refresh_from_db()
    assert model.api_key == ""


def test_an_endpoint_needs_address_and_model(staff):
    answer = staff.post(reverse("admin:experiments_languagemodel_add"), model_form(model=""))
    assert "needs an address and a model name" in answer.content.decode()


@pytest.mark.parametrize("address", ["http://localhost:abc/v1", "http://[x/v1", "http://localhost:99999/v1"])
def test_an_address_that_is_none_is_refused(staff, address):
    answer = staff.post(reverse("admin:experiments_languagemodel_add"), model_form(base_url=address))
    assert "That is not an address" in answer.content.decode()
    assert not LanguageModel.objects.exists()


class Endpoint(http.server.BaseHTTPRequestHandler):
    status, body, heard = 200, {}, []

    def do_POST(self):  # noqa: N802
        self.heard.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
        data = json.dumps(self.body).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def endpoint():
    Endpoint.heard.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ready."}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


@pytest.mark.parametrize(
    "status, body, words",
    [
        (200, ANSWER, "It answers.</strong> “Ready.” in"),
        (401, {"error": {"message": f"bad key {KEY}"}}, "refuses the API key"),
        (404, {"error": {"message": "no such model"}}, "knows no model"),
        (500, {"error": {"message": "boom"}}, "failed with status 500"),
        (200, {"hello": "world"}, "without any choices"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_test_connection(async_client, endpoint, status, body, words):
    from asgiref.sync import async_to_sync

    Endpoint.status, Endpoint.body = status, body
    user = boards.staff()
    model = LanguageModel.objects.create(name="M", kind="openai", base_url=endpoint, model="m", api_key=KEY)

    async def ask():
        await async_client.aforce_login(user)
        return await async_client.post(reverse("bench:test_model", args=[model.pk]))

    answer = async_to_sync(ask)()
    text = answer.content.decode()
    assert answer.status_code == 200 and words in text
    assert KEY not in text
    assert Endpoint.heard[0][0] == f"Bearer {KEY}" and len(Endpoint.heard) == 1


def test_test_connection_is_for_staff(client, endpoint):
    model = LanguageModel.objects.create(name="M", kind="openai", base_url=endpoint, model="m", api_key=KEY)
    client.force_login(User.objects.create(username="eve"))
    assert client.post(reverse("bench:test_model", args=[model.pk])).status_code == 404
    assert Endpoint.heard == []


# --- studies --------------------------------------------------------------------------------------------------


def test_a_study_is_set_up_and_invites_people(staff, monkeypatch):
    monkeypatch.delenv("PREFINE_URL", raising=False)
    staff.post(reverse("admin:studies_study_add"), study_form())
    study = Study.objects.get()
    arm = study.arms.get()
    assert arm.judge == "human" and study.status == "draft"
    staff.post(reverse("admin:study_invite", args=[study.pk]), {"count": 3})
    people = Participant.objects.filter(study=study)
    assert [person.label for person in people.order_by("pk")] == ["P01", "P02", "P03"]
    assert len({person.token for person in people}) == 3
    page = staff.get(reverse("admin:studies_study_change", args=[study.pk])).content.decode()
    assert all(f'data-copy="http://testserver{person.get_absolute_url()}"' in page for person in people)


def test_labels_go_on_after_the_highest():
    study = rows.study()
    Participant.objects.create(study=study, label="P09")
    Participant.objects.create(study=study, label="pilot")
    assert invite(study, 2) == ["P10", "P11"]


@pytest.mark.parametrize(
    "count, words", [("0", "at least one"), ("201", "at most 200"), ("", "how many"), ("x", "whole")]
)
def test_a_bad_number_of_participants_is_explained(staff, count, words):
    study = rows.study()
    answer = staff.post(reverse("admin:study_invite", args=[study.pk]), {"count": count}, follow=True)
    assert words in answer.content.decode()
    assert not study.participants.exists()


def test_open_and_close(staff):
    study = rows.study(status="draft")
    address = reverse("admin:study_status", args=[study.pk])
    for status in ("open", "closed"):
        staff.post(address, {"status": status})
        study.refresh_from_db()
        assert study.status == status
    staff.post(address, {"status": "nonsense"})
    study.refresh_from_db()
    assert study.status == "closed"
    page = reverse("admin:studies_study_changelist")
    staff.post(page, {"action": "open_links", "_selected_action": [study.pk]})
    study.refresh_from_db()
    assert study.status == "open"


def test_state_is_changed_by_post_alone_and_by_staff_alone(staff, client):
    study = rows.study()
    for name in ("admin:study_invite", "admin:study_status"):
        assert staff.get(reverse(name, args=[study.pk])).status_code == 405
    client.logout()
    assert client.post(reverse("admin:study_invite", args=[study.pk]), {"count": 3}).status_code == 302
    assert not study.participants.exists()


def test_the_plan_stands_once_somebody_consented(staff):
    study = rows.participant().study
    form = study_form({"k": 9, "name": "renamed"}, study=study, title="renamed", seed=5)
    staff.post(reverse("admin:studies_study_change", args=[study.pk]), form)
    study.refresh_from_db()
    assert (study.title, study.seed) == ("renamed", rows.SEED)
    assert (study.arms.get().name, study.arms.get().k) == ("renamed", 6)


def change(study):
    return reverse("admin:studies_study_change", args=[study.pk])


def test_a_saved_draft_says_so_and_what_is_still_to_do(staff):
    form = study_form(ethics_protocol="", ethics_expires_on="")
    page = staff.post(reverse("admin:studies_study_add"), form, follow=True).content.decode()
    assert "saved as a draft" in page and "This study is a draft" in page
    assert "Name the ethics protocol" in page and "Open the links" not in page
    study = Study.objects.get()
    staff.post(reverse("admin:study_status", args=[study.pk]), {"status": "open"})
    assert Study.objects.get().status == "draft"
    staff.post(change(study), study_form({}, study=study))
    assert "Open the links" in staff.get(change(study)).content.decode()
    staff.post(reverse("admin:study_status", args=[study.pk]), {"status": "open"})
    assert Study.objects.get().status == "open"


def test_a_study_has_arms_questions_and_codes(staff):
    question = {"text": "Is there a right answer?", "answers": "yes\nno", "correct": 2, "explanation": ""}
    code = {"outcome": "finished", "code": "C1ABC", "url": "https://example.org/done?cc=C1ABC"}
    arms = ({"name": "icpl"}, {"name": "open loop", "method": "open_loop", "panel": 3, "position": 1})
    staff.post(
        reverse("admin:studies_study_add"), study_form(*arms, questions=[{**question, "position": 0}], codes=[code])
    )
    study = Study.objects.get()
    assert [(arm.name, arm.method, arm.panel) for arm in study.arms.all()] == [
        ("icpl", "icpl", 1),
        ("open loop", "open_loop", 3),
    ]
    assert study.questions.get().choices == ["yes", "no"] and study.codes.get().code == "C1ABC"


@pytest.mark.parametrize(
    "arms, values, words",
    [
        ([{"method": "eureka"}], {}, "Select a valid choice. eureka is not one of the available choices"),
        ([{"k": 13}], {}, "A person compares at most 12 videos at a time"),
        ([{"task": "FrankaCabinet", "preset": "nonsense"}], {}, "nonsense is not one of the available choices"),
        ([{"name": "A"}, {"name": "A"}], {}, "correct the duplicate"),
        ([{}], {"parameter_person": "a b"}, "Letters, digits, dots"),
        ([{}], {"experiments_each": 0}, "greater than or equal to 1"),
    ],
)
def test_a_study_that_cannot_be(staff, arms, values, words):
    page = staff.post(reverse("admin:studies_study_add"), study_form(*arms, **values)).content.decode()
    assert words in page
    assert not Study.objects.exists()


def test_a_study_without_arms_is_not_saved(staff):
    form = {**STUDY, "arms-TOTAL_FORMS": 0, "arms-INITIAL_FORMS": 0}
    form |= {f"{name}-{what}_FORMS": 0 for name in ("questions", "codes") for what in ("TOTAL", "INITIAL")}
    assert "Please submit at least 1 form" in staff.post(reverse("admin:studies_study_add"), form).content.decode()
    assert not Study.objects.exists()


def test_only_methods_for_people_are_offered(staff):
    page = staff.get(reverse("admin:studies_study_add")).content.decode()
    assert '<option value="icpl"' in page
    for method in METHODS.values():
        offered = f'<option value="{method.name}"' in page
        assert offered == (method.asks_judge and not method.uses_metric), method.name


def test_saving_a_study_as_it_is_changes_nothing(staff):
    staff.post(reverse("admin:studies_study_add"), study_form({"options": ""}, consent_text="One line.\r\nAnother."))
    study = Study.objects.get()
    assert study.arms.count() == 1
    form = study_form({"options": ""}, study=study, consent_text="One line.\r\nAnother.")
    form |= {"title": "Only this", "seed": study.seed}
    assert staff.post(change(study), form).status_code == 302
    assert AuditEntry.objects.filter(action="changed").latest("pk").detail["fields"] == ["Title"]


def test_a_changed_consent_text_gets_the_next_version(staff):
    study = rows.participant(rows.study(consent_version="1.9")).study
    study.publish_consent()
    same = study.consent_text.replace("\n", "\r\n")  # as browsers send it
    staff.post(change(study), study_form({}, study=study, consent_version="1.9", consent_text=same, title="Same text"))
    assert Study.objects.get().title == "Same text" and study.consent_texts.count() == 1
    form = study_form({}, study=study, consent_version="1.9", consent_text="Another text. " * 5)
    staff.post(change(study), form)
    assert list(study.consent_texts.values_list("version", flat=True)) == ["1.9", "1.10"]
    study.refresh_from_db()
    page = staff.post(change(study), {**form, "consent_version": "1.9"}).content.decode()
    assert "Version 1.9 is another text, which people have read." in page


def test_places_are_given_by_hand(staff):
    study = rows.study(assignment="by hand", experiments_each=2)
    other = rows.arm(study, "B")
    page = staff.get(change(study)).content.decode()
    assert 'name="arm_1"' in page and 'name="arm_2"' in page
    address = reverse("admin:study_invite", args=[study.pk])
    first = study.arms.get(name="A")
    assert "Choose an arm" in staff.post(address, {"count": 2, "arm_1": first.pk}, follow=True).content.decode()
    foreign = rows.study(title="Another").arms.get()
    wrong = staff.post(address, {"count": 2, "arm_1": first.pk, "arm_2": foreign.pk}, follow=True).content.decode()
    assert "no arm of this study" in wrong and not study.participants.exists()
    staff.post(address, {"count": 2, "arm_1": other.pk, "arm_2": first.pk})
    places = [[place.arm.name for place in person.assignments.all()] for person in study.participants.all()]
    assert places == [["B", "A"]] * 2


def test_a_place_stands_once_its_person_has_consented(staff):
    study = rows.study(assignment="by hand")
    other = rows.arm(study, "B")
    invite(study, 1, [study.arms.get(name="A")])
    person = study.participants.get()
    address = reverse("admin:studies_participant_change", args=[person.pk])
    place = person.assignments.get()
    form = {"label": "P01", "assignments-TOTAL_FORMS": 1, "assignments-INITIAL_FORMS": 1}
    form |= {f"assignments-0-{name}": value for name, value in [("id", place.pk), ("position", 1), ("arm", other.pk)]}
    staff.post(address, {**form, "assignments-0-participant": person.pk})
    place.refresh_from_db()
    assert place.arm == other
    enrolment.consent(person)
    assert staff.post(address, form).status_code == 403


def test_the_admin_has_a_policy_of_its_own(staff, client):
    admin_policy = staff.get(reverse("admin:index"))["Content-Security-Policy"]
    bench_policy = staff.get(reverse("bench:index"))["Content-Security-Policy"]
    assert "'unsafe-eval'" in admin_policy
    assert "unsafe" not in bench_policy and "default-src 'none'" in bench_policy
    assert "unsafe" not in client.get("/")["Content-Security-Policy"]


def test_the_environment_names_the_default_model(staff, settings):
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "m"
    for name in ("admin:experiments_experiment_add", "admin:studies_study_add"):
        text = staff.get(reverse(name)).content.decode()
        assert "selected>From the environment" in text
    model = LanguageModel.objects.get()
    assert (model.kind, model.base_url, model.model, model.api_key) == ("openai", "http://localhost:9/v1", "m", "")


def test_what_began_with_the_environments_model_keeps_it(settings):
    from webapp.experiments.defaults import environment_model

    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "first"
    running = Experiment.objects.create(name="x", status="running", model=environment_model())
    for address, name in (("http://localhost:9/v1", "second"), ("http://other:9/v1", "second")):
        settings.MODEL_BASE_URL, settings.MODEL_NAME = address, name
        row = environment_model()
        assert (row.base_url, row.model, row) == (address, name, environment_model())
    running = Experiment.objects.get()
    assert (running.model.base_url, running.model.model) == ("http://localhost:9/v1", "first")
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "first"
    assert environment_model() == running.model
    assert sorted(LanguageModel.objects.values_list("name", flat=True)) == [
        "From the environment",
        "From the environment 2",
        "From the environment 3",
    ]


def test_the_environments_key_goes_to_the_environments_endpoint_alone(settings):
    settings.API_KEY, settings.MODEL_BASE_URL = "sk-environment", "https://mine.example/v1"
    assert LanguageModel(kind="openai", base_url="https://mine.example/v1", model="m").key == "sk-environment"
    assert LanguageModel(kind="openai", base_url="https://other.example/v1", model="m").key == ""
    assert LanguageModel(kind="openai", base_url="https://other.example/v1", model="m", api_key="own").key == "own"
