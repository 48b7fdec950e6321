"""The audit log: what is recorded, by whom, and that a change to it shows."""

import json
import threading

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.urls import reverse

from tests.webapp import bench_rows, poll_rows, rows
from webapp.audit import chain, record
from webapp.audit.models import AppendOnly, Entry, Head
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Clip, Experiment
from webapp.studies.models import Participant
from webapp.votes import lifecycle

pytestmark = pytest.mark.django_db


def entries(**values):
    return list(Entry.objects.filter(**values).order_by("pk"))


def test_a_row_says_who_what_and_to_what():
    person = rows.participant()
    record("participant", "withdrew", person, deleted=True, rounds=2)
    row = Entry.objects.get(action="withdrew")
    assert (row.actor, row.target_type, row.target_label) == ("participant", "studies.participant", "P07")
    assert row.detail == {"deleted": True, "rounds": 2}


def test_sealing_chains_the_rows_in_their_order():
    for number in range(3):
        record("system", f"step {number}")
    assert chain.seal_entries() == 3
    assert chain.seal_entries() == 0
    first, second, third = entries()
    assert [first.number, second.number, third.number] == [1, 2, 3]
    assert second.previous == first.hash and third.previous == second.hash
    assert Head.objects.get().hash == third.hash
    assert list(chain.find_breaks()) == []


@pytest.mark.django_db(transaction=True)
def test_a_row_is_sealed_when_its_transaction_is_over():
    record("system", "began")
    assert Entry.objects.get().number == 1


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_chain():
    def work(name):
        for number in range(5):
            record(name, f"step {number}")
        connections.close_all()

    threads = [threading.Thread(target=work, args=[f"worker {number}"]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chain.seal_entries()
    assert sorted(row.number for row in entries()) == list(range(1, 21))
    assert list(chain.find_breaks()) == []


TAMPERING = [
    ("UPDATE audit_entry SET actor = 'somebody else' WHERE number = 2", "Row 2"),
    ("UPDATE audit_entry SET detail = '{}' WHERE number = 2", "Row 2"),
    ("DELETE FROM audit_entry WHERE number = 2", "Row 2 is missing"),
    ("DELETE FROM audit_entry WHERE number = 3", "should end with row 3"),
    ("UPDATE audit_entry SET created_at = '2020-01-01 00:00:00+00:00' WHERE number = 1", "Row 1"),
]


@pytest.mark.parametrize(("statement", "words"), TAMPERING)
def test_a_change_behind_its_back_shows(statement, words):
    for number in range(3):
        record("ada", "closed vote", count=number)
    chain.seal_entries()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(CommandError, match=words):
        call_command("verify_audit")


def test_the_command_says_that_the_chain_holds_and_finds_a_rewritten_table(capsys):
    record("ada", "closed vote")
    call_command("verify_audit")
    noted = capsys.readouterr().out.split()[-1]
    assert noted.startswith("1:")
    call_command("verify_audit", expect=noted)
    with connection.cursor() as cursor:  # a whole new chain, consistent in itself
        cursor.execute("DELETE FROM audit_entry")
        cursor.execute("DELETE FROM audit_head")
    record("ada", "did nothing at all")
    call_command("verify_audit")
    with pytest.raises(CommandError, match="rewritten"):
        call_command("verify_audit", expect=noted)


def test_rows_cannot_be_changed_or_removed_by_our_own_code():
    row = record("ada", "closed vote")
    for attempt in (row.save, row.delete, Entry.objects.all().delete, lambda: Entry.objects.update(actor="x")):
        with pytest.raises(AppendOnly):
            attempt()


def test_a_row_survives_only_with_what_it_tells_of():
    from django.db import transaction

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record("ada", "closed vote")
        1 / 0  # noqa: B018
    assert not entries()


def test_values_that_no_database_would_give_back_as_they_were_are_text():
    record("ada", "set", None, share=0.1, text="a\0b", when=Exception("x"), several={"a": (1, 2)})
    assert Entry.objects.get().detail == {"share": "0.1", "text": "ab", "when": "x", "several": {"a": [1, 2]}}


# --- recorded without anybody thinking of it ---


@pytest.fixture
def staff(client):
    user = bench_rows.create_staff()
    client.force_login(user)
    return user


def test_logging_in_and_out(client):
    User.objects.create_user("eve", password="open sesame 1", is_staff=True)
    address = reverse("admin:login")
    client.post(address, {"username": "eve", "password": "wrong"})
    client.post(address, {"username": "hunter2", "password": "wrong"})
    client.post(address, {"username": "eve", "password": "open sesame 1"})
    client.post(reverse("admin:logout"))
    told = [(row.actor, row.action) for row in entries() if "log" in row.action]
    assert told == [
        ("eve", "failed to log in"),
        ("unknown account", "failed to log in"),
        ("eve", "logged in"),
        ("eve", "logged out"),
    ]
    assert "hunter2" not in json.dumps([[row.actor, row.target_label, row.detail] for row in entries()])


@pytest.mark.slow
def test_bench_actions(client, staff):
    experiment = bench_rows.create_training_experiment()
    client.post(reverse("bench:act", args=[experiment.public_id, "pause"]))
    row = Entry.objects.get(action="pause")
    assert (row.actor, row.target_type, row.target_id) == ("ada", "experiments.experiment", str(experiment.pk))


def test_a_study_opened_and_closed(client, staff):
    study = rows.study()
    for status in ("closed", "open"):
        client.post(reverse("bench:study_status", args=[study.pk]), {"status": status})
    told = [(row.action, row.target_id) for row in entries(target_type="studies.study")]
    assert told == [("closed study", str(study.pk)), ("opened study", str(study.pk))]


def test_what_is_done_to_a_comparison_names_it(client, staff):
    made = Comparison.objects.create(tasks=["Cartpole"], methods=["icpl"])
    client.post(reverse("comparisons:act", args=[made.public_id, "start"]))
    row = Entry.objects.get(action="start")
    assert (row.target_type, row.target_id) == ("comparisons.comparison", str(made.pk))


@pytest.mark.slow
def test_every_action_names_what_it_was_done_to(client, staff):
    person = rows.participant()
    study, experiment = person.study, person.experiment
    rows.create_round(person, failed=(1,))
    rows.open_training(person)
    clip = Clip.objects.get(status="failed")
    client.post(reverse("bench:study_invite", args=[study.pk]), {"count": 2})
    client.post(reverse("bench:refilm", args=[clip.pk]))
    client.get(reverse("bench:study_file", args=[study.pk, "people", "csv"]))
    chosen = {"action": "copy_studies", "_selected_action": [study.pk]}
    client.post(reverse("admin:studies_participant_changelist"), {"action": "", "_selected_action": [person.pk]})
    client.post(reverse("admin:studies_study_changelist"), chosen)
    told = {row.action: (row.target_type, row.target_id) for row in entries()}
    assert told["invited participants"] == told["downloaded"] == ("studies.study", str(study.pk))
    assert told["copied study"][0] == "studies.study"
    assert told["refilm"] == ("experiments.experiment", str(experiment.pk))
    assert all(kind for kind, _ in told.values()), told


def test_what_was_chosen_and_is_no_key_is_told_as_well(client, staff):
    page = reverse("admin:studies_study_changelist")
    assert client.post(page, {"action": "", "_selected_action": ["x"]}).status_code == 302
    assert entries()[-1].detail["selected"] == ["x"]


@pytest.mark.slow
def test_downloads(client, staff):
    experiment = bench_rows.create_finished_experiment()
    address = reverse("bench:rounds_figure", args=[experiment.public_id, "csv"])
    assert client.get(address).status_code == 200
    row = Entry.objects.get(action="downloaded")
    assert row.actor == "ada" and row.detail["file"].endswith(".csv")


def test_changes_in_the_admin_name_fields_and_no_values(client, staff):
    other = User.objects.create_user("bob", email="bob@example.org", is_staff=True)
    address = reverse("admin:auth_user_change", args=[other.pk])
    form = {"username": "bob", "email": "robert@example.org", "is_active": "on", "role": "viewer"}
    response = client.post(address, form)
    assert response.status_code == 302, response.context["errors"]
    changed = Entry.objects.get(action="changed")
    assert changed.actor == "ada" and changed.target_label == "bob"
    assert "robert" not in json.dumps(changed.detail)


def test_rights_and_deletions(client, staff):
    other = User.objects.create(username="bob")
    other.is_superuser = True
    other.save()
    other.groups.add(Group.objects.create(name="Readers"))
    told = [row.detail for row in entries(action="changed rights", target_label="bob")]
    assert told == [{"is_active": True}, {"is_superuser": True}, {"add": ["Readers"]}]
    person = rows.participant(consented=False)
    Participant.objects.filter(pk=person.pk).delete()
    assert [row.target_label for row in entries(action="deleted", target_type="studies.participant")] == ["P07"]


@pytest.mark.slow
def test_what_was_refused_is_recorded_too(client, staff):
    experiment = bench_rows.create_training_experiment()
    client.post(reverse("bench:act", args=[experiment.public_id, "explode"]))
    assert Entry.objects.get(action="explode").detail["refused"] == 404


def test_participants_pages_are_not_recorded(client):
    person = rows.participant()
    client.get(person.get_absolute_url())
    client.post(reverse("ready", args=[person.token]))
    assert not entries()


def test_withdrawals_are_recorded_once_by_label():
    from webapp.studies import enrolment

    person = rows.participant()
    enrolment.withdraw(person)
    enrolment.withdraw(person)
    row = Entry.objects.get(action="withdrew")
    assert (row.actor, row.target_label) == ("participant", "P07")


@pytest.mark.slow
def test_closing_and_unblinding_a_vote(client, staff):
    poll = poll_rows.poll()
    lifecycle.open_poll(poll)
    client.post(reverse("votes:close", args=[poll.public_id]), {"sure": "yes"})
    client.get(poll.get_absolute_url())
    figure = reverse("votes:figure", args=[poll.public_id, "votes", "csv"])
    client.get(poll.get_absolute_url())
    assert client.get(figure).status_code == 403 and not Entry.objects.filter(action="unblinded vote").exists()
    client.post(reverse("votes:unblind", args=[poll.public_id]))
    client.get(figure)
    told = [(row.actor, row.action) for row in entries(target_type="votes.poll")]
    assert told == [("ada", "closed vote"), ("ada", "unblinded vote"), ("ada", "downloaded")]


# --- the page ---


def test_reading_filtering_and_taking_it_along(client, staff):
    record("eve", "closed vote", None, count=7)
    record("bob", "=HYPERLINK(1)")
    page = client.get(reverse("audit:index")).content.decode()
    assert "closed vote" in page and "bob" in page
    page = client.get(reverse("audit:index"), {"actor": "eve", "since": "2000-01-01", "until": "x", "page": "y"})
    assert [row.actor for row, _ in page.context["rows"]] == ["eve"]
    assert not client.get(reverse("audit:index"), {"until": "2000-01-01"}).context["rows"]
    csv = client.get(reverse("audit:download"), {"actor": "bob"}).content.decode().splitlines()
    assert len(csv) == 2 and ",'=HYPERLINK(1)," in csv[1]
    assert Entry.objects.get(action="downloaded").detail == {"file": "audit.csv", "filters": {"actor": "bob"}}
    assert Entry.objects.get(action="downloaded").number  # told of itself, and chained


def test_what_it_was_done_to_is_called_as_people_call_it(client, staff):
    record("eve", "changed", Experiment.objects.create(name="first", task="Cartpole").iterations.create(number=1))
    record("eve", "changed", None)
    page = client.get(reverse("audit:index"), {"q": "round"})
    assert [row.target_type for row, _ in page.context["rows"]] == ["experiments.iteration"]
    assert "<small>round</small>" in page.content.decode()


def test_details_are_read_without_brackets_and_quotes(client, staff):
    record("eve", "changed rights", None, is_active=True, fields=["title", "quota"], filters={"actor": "", "no": 0})
    page = client.get(reverse("audit:index")).content.decode()
    for part in ("is active: yes", "fields: title, quota", "actor: none", "no: 0"):  # PostgreSQL orders them its way
        assert part in page


def test_scripts_in_it_are_text(client, staff):
    record("eve", "<script>alert(1)</script>", None, text="<b>")
    page = client.get(reverse("audit:index")).content.decode()
    assert "<script>alert" not in page and "<b>" not in page
