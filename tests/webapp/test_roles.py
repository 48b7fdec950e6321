"""Accounts: who may do what, the second factor, and what wrong passwords lead to."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver, resolve, reverse, set_script_prefix
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken

from tests.webapp import bench_rows, rows
from tests.webapp.test_events import emit, opened
from webapp.accounts import roles, sessions, twofactor
from webapp.accounts.middleware import HIDDEN_VIEWS
from webapp.accounts.models import AuthenticatorApp
from webapp.accounts.twofactor import MissingFactor
from webapp.audit.models import Entry
from webapp.experiments.models import Experiment, LanguageModel
from webapp.live import consumers

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse 42"


def account(name: str = "eve", role: str = roles.Role.VIEWER, extra_rights: tuple[str, ...] = ()) -> User:
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True)
    user.is_superuser = role == roles.Role.ADMINISTRATOR
    user.save()
    roles.assign_role(user, role, list(extra_rights))
    return User.objects.get(pk=user.pk)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


# --- roles ---


SAMPLES = {"int": "1", "uuid": "0" * 8 + 3 * "-0000" + "-" + "0" * 12, "archive_kind": "export"}


def list_addresses(patterns: Any, before: str = "/") -> Iterator[str]:
    """An address for each pattern, of rows that need not exist."""
    for pattern in patterns:
        address = before + re.sub(r"<(?:(\w+):)?\w+>", lambda m: SAMPLES.get(m[1], "x"), str(pattern.pattern))
        yield from list_addresses(pattern.url_patterns, address) if hasattr(pattern, "url_patterns") else [address]


@pytest.mark.slow
def test_nobody_but_staff_gets_anything_of_the_bench() -> None:
    addresses = [address for address in list_addresses(get_resolver().url_patterns) if address.startswith("/bench/")]
    assert len(addresses) > 90
    for client in (Client(), signed_in(User.objects.create(username="plain"))):
        hidden = set[str]()
        for address in addresses:
            for answer in (client.get(address), client.post(address)):
                if answer.status_code in (404, 405):
                    hidden.add(resolve(address).view_name)
                else:
                    assert "/admin/login/" in answer.url, address  # type: ignore[attr-defined]
        assert hidden == HIDDEN_VIEWS


def test_the_bench_is_guarded_below_another_root_too() -> None:
    set_script_prefix("/lab/")
    try:
        answer = Client().get("/bench/", SCRIPT_NAME="/lab")
    finally:
        set_script_prefix("/")
    assert answer.status_code == 302 and answer["Location"].startswith("/lab/admin/login/")


def test_experimenters_set_up_studies_and_no_accounts_or_keys() -> None:
    user = account(role=roles.Role.EXPERIMENTER)
    allowed = ("studies.add_study", "studies.change_study", "experiments.add_experiment", "votes.change_poll")
    assert [name for name in allowed if not user.has_perm(name)] == []
    refused = ("auth.change_user", "experiments.change_languagemodel", "experiments.view_languagemodel")
    refused += ("audit.view_entry", "studies.view_recruit")
    assert [name for name in refused if user.has_perm(name)] == []


def test_no_model_that_reaches_people_comes_with_the_role() -> None:
    group = Group.objects.get(name=roles.EXPERIMENTERS)
    named = {row.content_type.model for row in group.permissions.select_related("content_type")}
    assert named and not named & set(roles.KEPT_FROM_EXPERIMENTERS)


PAGES = [
    ("admin:studies_study_changelist", (403, 200, 200)),
    ("admin:studies_study_add", (403, 200, 200)),
    ("admin:experiments_languagemodel_changelist", (403, 403, 200)),
    ("admin:auth_user_changelist", (403, 403, 200)),
    ("bench:experiment_new", (403, 200, 200)),
    ("votes:new", (403, 200, 200)),
    ("bench:model_new", (403, 403, 200)),
    ("audit:index", (403, 403, 200)),
    ("bench:index", (200, 200, 200)),
    ("account:account", (200, 200, 200)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), PAGES)
def test_each_role_sees_what_it_needs(name: str, expected: tuple[int, int, int]) -> None:
    people = [signed_in(account(role, role)) for role in roles.Role.values]
    assert tuple(client.get(reverse(name)).status_code for client in people) == expected


@pytest.mark.slow
def test_the_menu_offers_nothing_that_is_refused() -> None:
    for role in roles.Role.values:
        client = signed_in(account(role, role))
        page = client.get(reverse("admin:index")).content.decode()
        links = set(re.findall(r'href="(/(?:admin|bench)/[^"]*/)"', page))
        assert links
        refused = [link for link in links if "/add/" not in link and client.get(link).status_code == 403]
        assert role and refused == []


@pytest.mark.slow
def test_a_viewer_changes_nothing_on_the_bench() -> None:
    row = bench_rows.create_training_experiment()
    viewer, experimenter = signed_in(account()), signed_in(account("ann", roles.Role.EXPERIMENTER))
    pause = reverse("bench:act", args=[row.public_id, "pause"])
    assert viewer.get(reverse("bench:experiment", args=[row.public_id])).status_code == 200
    assert viewer.post(pause).status_code == 403
    assert not Experiment.objects.get(pk=row.pk).paused
    assert Entry.objects.get(actor="eve", action="pause").detail["refused"] == 403
    assert experimenter.post(pause).status_code == 302
    assert Experiment.objects.get(pk=row.pk).paused


def test_a_viewer_opens_no_study() -> None:
    study = rows.study(status="draft")
    viewer = signed_in(account())
    assert viewer.post(reverse("bench:study_status", args=[study.pk]), {"status": "open"}).status_code == 403
    study.refresh_from_db()
    assert study.status == "draft"


def test_who_may_only_see_a_language_model_sees_no_key() -> None:
    model = LanguageModel.objects.create(name="m", kind="openai", base_url="https://x/v1", model="m", api_key="sk-1")
    user = account()
    user.user_permissions.add(Permission.objects.get(codename="view_languagemodel"))
    answer = signed_in(user).get(reverse("bench:model_edit", args=[model.pk]))
    assert answer.status_code in (302, 403) and b"sk-1" not in answer.content


def test_a_right_is_given_and_taken_in_the_form() -> None:
    admin = signed_in(account("root", roles.Role.ADMINISTRATOR))
    form = {"username": "ann", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    form |= {"role": "experimenter", "extra_rights": ["audit.view_entry"]}
    answer = admin.post(reverse("admin:auth_user_add"), form)
    assert answer.status_code == 302, answer.context["errors"]
    ann = User.objects.get(username="ann")
    assert ann.is_staff and not ann.is_superuser and ann.has_perm("audit.view_entry")
    assert roles.get_role(ann) == "experimenter" and roles.get_extra_rights(ann) == ["audit.view_entry"]
    change = reverse("admin:auth_user_change", args=[ann.pk])
    page = admin.get(change).content.decode()
    assert re.search(r'value="audit.view_entry"[^>]*checked', page)
    answer = admin.post(change, {"username": "ann", "is_active": "on", "role": "viewer"})
    assert answer.status_code == 302, answer.context["errors"]
    ann = User.objects.get(pk=ann.pk)
    assert not ann.has_perm("audit.view_entry") and not ann.groups.exists()


def test_the_last_administrator_stays_one() -> None:
    root = account("root", roles.Role.ADMINISTRATOR)
    form = {"username": "root", "is_active": "on", "role": "viewer"}
    answer = signed_in(root).post(reverse("admin:auth_user_change", args=[root.pk]), form)
    assert answer.status_code == 200 and b"only administrator left" in answer.content


# --- the second factor ---


def code_of(device: AuthenticatorApp, steps: int = 0) -> str:
    device.refresh_from_db(fields=["drift"])  # a code that was late before has moved it
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits, device.drift)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06d}"


def with_app(user: User) -> AuthenticatorApp:
    return AuthenticatorApp.objects.create(user=user, confirmed=True, name="app")


def sign_in(client: Client, code: str = "", password: str = PASSWORD, name: str = "eve") -> Any:
    return client.post(reverse("admin:login"), {"username": name, "password": password, "code": code})


def test_setting_it_up() -> None:
    client = signed_in(account())
    page = client.get(reverse("account:account")).content.decode()
    assert "data:image/svg+xml," in page
    device = AuthenticatorApp.objects.get()
    wrong = client.post(reverse("account:turn_on"), {"code": "000000" if code_of(device) != "000000" else "000001"})
    assert wrong.status_code == 302 and twofactor.find_app(device.user) is None
    AuthenticatorApp.objects.update(throttling_failure_count=0)
    codes = client.post(reverse("account:turn_on"), {"code": code_of(device)}).content.decode()
    assert len(re.findall(r"<li><code>", codes)) == 10
    assert client.get(reverse("bench:index")).status_code == 200  # this session has just shown a code


def test_a_password_without_a_code_signs_nobody_in(client: Client) -> None:
    device = with_app(account())
    assert "also needs the code" in sign_in(client).content.decode()
    assert "_auth_user_id" not in client.session
    assert sign_in(client, code_of(device)).status_code == 302
    assert client.get(reverse("bench:index")).status_code == 200


def test_a_wrong_code_counts_as_a_failure_and_a_right_one_works_once(client: Client) -> None:
    device = with_app(account())
    assert "not right" in sign_in(client, "123456" if code_of(device) != "123456" else "654321").content.decode()
    assert Entry.objects.filter(action="failed to log in", actor="eve").count() == 1
    AuthenticatorApp.objects.update(throttling_failure_count=0)
    code = code_of(device)
    assert sign_in(client, code).status_code == 302
    assert "not right" in sign_in(Client(), code).content.decode()


def test_a_recovery_code_works_once(client: Client) -> None:
    user = account()
    with_app(user)
    code = twofactor.renew_recovery_codes(user)[0]
    assert sign_in(client, f"{code[:4]} {code[4:].upper()}").status_code == 302
    assert StaticToken.objects.count() == 9
    assert sign_in(Client(), code).status_code == 200


@pytest.mark.slow
def test_where_it_is_required_nothing_opens_before(settings: Any) -> None:
    settings.REQUIRE_2FA = True
    client = signed_in(account("root", roles.Role.ADMINISTRATOR))
    row = bench_rows.create_finished_experiment()
    places = [reverse("bench:index"), reverse("admin:index"), reverse("audit:index"), reverse("votes:index")]
    places.append(reverse("bench:rounds_figure", args=[row.public_id, "csv"]))
    clip = row.winner.clips.get(percent=100)
    places.append(reverse("bench:clip", args=[clip.name]))
    for place in places:
        answer = client.get(place)
        assert (answer.status_code, answer.headers.get("Location")) == (302, reverse("account:account")), place
    assert "asks everybody" in client.get(reverse("account:account")).content.decode()
    live = client.get(reverse("bench:live", args=[row.public_id]), headers={"HX-Request": "true"})
    assert live.status_code == 401
    client.post(reverse("account:turn_on"), {"code": code_of(AuthenticatorApp.objects.get())})
    assert client.get(reverse("bench:index")).status_code == 200


def test_other_sessions_end_when_it_is_turned_on() -> None:
    user = account()
    here, elsewhere = signed_in(user), signed_in(user)
    here.get(reverse("account:account"))
    here.post(reverse("account:turn_on"), {"code": code_of(AuthenticatorApp.objects.get())})
    answer = elsewhere.get(reverse("bench:index"))
    assert answer.status_code == 302 and answer.headers["Location"].startswith(reverse("admin:login"))
    assert "_auth_user_id" not in elsewhere.session


def test_turning_it_off_needs_a_code() -> None:
    user = account()
    client = Client()
    device = with_app(user)
    sign_in(client, code_of(device))
    client.post(reverse("account:turn_off"), {"code": ""})
    assert twofactor.find_app(user)
    client.post(reverse("account:turn_off"), {"code": code_of(device, 1)})
    assert twofactor.find_app(user) is None


def test_an_administrator_resets_it_and_sees_no_key() -> None:
    root, user = account("root", roles.Role.ADMINISTRATOR), account()
    device = with_app(user)
    client = signed_in(root)
    chosen = {"action": "reset_two_factor", "_selected_action": [user.pk]}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    assert twofactor.find_app(user) is None
    assert Entry.objects.get(action="reset two-factor").target_label == "eve"
    pages = [reverse("admin:index"), reverse("admin:auth_user_change", args=[user.pk])]
    assert not any(device.seed in client.get(page).content.decode() for page in pages)


def test_the_deployment_check_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check", "--deploy", "--tag", "security")
    assert "PREFINE_REQUIRE_2FA" in capsys.readouterr().err


# --- sessions of websockets ---


def test_a_session_ends_with_the_account_the_sign_in_and_the_password(settings: Any) -> None:
    user = account()

    def key() -> str:
        return str(signed_in(user).session.session_key)

    first = key()
    assert sessions.is_staff(first)
    assert not sessions.is_staff(None) and not sessions.is_staff("nonsense")
    settings.REQUIRE_2FA = True
    assert not sessions.is_staff(first)
    settings.REQUIRE_2FA = False
    client = signed_in(user)
    gone = str(client.session.session_key)
    client.post(reverse("admin:logout"))
    assert not sessions.is_staff(gone)
    user.set_password("another horse 42")
    user.save()
    assert not sessions.is_staff(first)
    later = key()
    User.objects.update(is_active=False)
    assert not sessions.is_staff(later)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
async def test_an_open_websocket_hears_nothing_after_its_account_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = await sync_to_async(bench_rows.create_training_experiment)()
    key = await sync_to_async(lambda: str(signed_in(account()).session.session_key))()
    socket = await opened(f"/ws/bench/{row.public_id}/", (b"cookie", f"sessionid={key}".encode()))
    await emit(row, "written", "heard")
    assert (await socket.hear())["text"] == "heard"
    await sync_to_async(User.objects.update)(is_active=False)
    monkeypatch.setattr(consumers, "RIGHTS_SECONDS", 0.0)
    await emit(row, "written", "not heard")
    answer = await socket.wire.receive_output(timeout=60)
    assert (answer["type"], answer["code"]) == ("websocket.close", consumers.FORBIDDEN)


def test_missing_says_what(settings: Any) -> None:
    user = account()
    assert twofactor.find_missing(user, {}) == MissingFactor.NOTHING
    settings.REQUIRE_2FA = True
    assert twofactor.find_missing(user, {}) == MissingFactor.SETUP
    device = with_app(user)
    assert twofactor.find_missing(user, {}) == MissingFactor.CODE
    assert twofactor.find_missing(user, {"otp_device_id": device.persistent_id}) == MissingFactor.NOTHING
    foreign = with_app(account("other"))
    assert twofactor.find_missing(user, {"otp_device_id": foreign.persistent_id}) == MissingFactor.CODE
