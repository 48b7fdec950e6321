from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from tests.webapp.fake_workers import create_experiment
from webapp.asgi import application
from webapp.experiments import events
from webapp.experiments.models import Event, Experiment
from webapp.live import consumers, origins, tail
from webapp.studies import assigning
from webapp.studies.models import Arm, Assignment, Participant, Study

pytestmark = pytest.mark.django_db(transaction=True)
ORIGIN = [(b"origin", b"http://localhost"), (b"host", b"localhost")]


@pytest.fixture
def person() -> Participant:
    study = Study.objects.create(title="t", consent_text="c", contact="x")
    person = Participant.objects.create(study=study, label="P1")
    arm = Arm.objects.create(study=study, task="Cartpole")
    Assignment.objects.create(participant=person, arm=arm, experiment=create_experiment())
    return person


@pytest.fixture
def row(person: Participant) -> Experiment:
    return Experiment.objects.get(assignments__participant=person)


def staff_cookie(staff: bool = True) -> tuple[bytes, bytes]:
    user = User.objects.create_user(uuid.uuid4().hex, is_staff=staff)
    client = Client()
    client.force_login(user)
    return b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode()


class Socket:
    """A websocket to the application, without a network between (channels' own needs a second web server)."""

    def __init__(self, address: str, headers: list[tuple[bytes, bytes]]) -> None:
        path, _, query = address.partition("?")
        scope = {"type": "websocket", "path": path, "query_string": query.encode(), "headers": headers}
        self.wire = ApplicationCommunicator(application, scope)

    async def connect(self) -> Any:
        await self.wire.send_input({"type": "websocket.connect"})
        return await self.wire.receive_output(timeout=60)

    async def say(self, text: str) -> None:
        await self.wire.send_input({"type": "websocket.receive", "text": text})

    async def hear(self) -> Any:
        return json.loads((await self.wire.receive_output(timeout=60))["text"])

    async def silent(self, seconds: float) -> bool:
        return bool(await self.wire.receive_nothing(timeout=seconds))

    async def closed(self) -> Any:
        """The code with which the server closes it next."""
        answer = await self.wire.receive_output(timeout=60)
        assert answer["type"] == "websocket.close"
        return answer["code"]

    async def leave(self) -> None:
        await self.wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wire.wait(timeout=60)


async def opened(address: str, *headers: tuple[bytes, bytes]) -> Socket:
    socket = Socket(address, [*ORIGIN, *headers])
    assert (await socket.connect())["type"] == "websocket.accept"
    return socket


async def refused(address: str, *headers: tuple[bytes, bytes]) -> Any:
    """The code with which it is closed."""
    answer = await Socket(address, [*headers, *([] if headers and headers[0][0] == b"origin" else ORIGIN)]).connect()
    assert answer["type"] == "websocket.close"
    return answer.get("code")


@sync_to_async
def emit(row: Experiment, *arguments: Any, **options: Any) -> Event:
    return events.emit(row, *arguments, **options)


class TestWindow:
    def rows(self, *numbers: int) -> list[tail.Row]:
        return [(number, 1, "kind", "", True) for number in numbers]

    def numbers(self, rows: list[tail.Row]) -> list[int]:
        return [row[0] for row in rows]

    def test_each_is_new_once(self) -> None:
        window = tail.Window(0)
        assert self.numbers(window.take_new(self.rows(1, 2), 0.0)) == [1, 2]
        assert self.numbers(window.take_new(self.rows(1, 2, 3), 0.2)) == [3]

    def test_a_lower_number_that_appears_later_is_not_missed(self) -> None:
        window = tail.Window(0)
        window.take_new(self.rows(1, 3), 0.0)
        assert window.floor < 2
        assert self.numbers(window.take_new(self.rows(1, 2, 3), 5.0)) == [2]

    def test_old_ones_are_forgotten(self) -> None:
        window = tail.Window(0)
        for second in range(100):
            window.take_new(self.rows(*range(window.floor + 1, second + 2)), float(second))
        assert len(window.seen) <= tail.WINDOW_SECONDS + 2 and window.floor >= 80

    def test_a_quiet_time_moves_nothing_down(self) -> None:
        window = tail.Window(7)
        for second in range(30):
            assert window.take_new([], float(second)) == []
        assert window.floor == 7


def test_what_waits_for_a_page_has_an_end_that_says_so() -> None:
    inbox = tail.make_queue()
    for number in range(2 * tail.MOST_WAITING):
        tail.put_message(inbox, {"id": number})
    waiting = [inbox.get_nowait() for _ in range(inbox.qsize())]
    assert len(waiting) == tail.MOST_WAITING and waiting[-1] == tail.BEHIND


class TestStudio:
    @pytest.mark.slow
    async def test_a_participant_hears_that_something_changed_and_nothing_else(
        self, person: Participant, row: Experiment
    ) -> None:
        socket = await opened(f"/ws/s/{person.token}/")
        await emit(row, "written", "Round 1: 6 rewards written", {"secret": 1}, public=True)
        assert await socket.hear() == {"type": "changed"}
        await emit(row, "picked", "best 1-3", public=False)
        assert await socket.silent(4 * tail.POLL_SECONDS)
        await socket.leave()

    @pytest.mark.slow
    async def test_others_hear_nothing(self, person: Participant) -> None:
        socket = await opened(f"/ws/s/{person.token}/")
        await emit(await sync_to_async(create_experiment)(), "written", public=True)
        assert await socket.silent(4 * tail.POLL_SECONDS)
        await socket.leave()

    @pytest.mark.slow
    async def test_a_person_who_goes_on_to_the_next_experiment_hears_of_that(
        self, person: Participant, row: Experiment
    ) -> None:
        socket = await opened(f"/ws/s/{person.token}/")
        following = await sync_to_async(self.goes_on)(person, row)
        assert await socket.hear() == {"type": "changed"}
        assert await socket.silent(4 * tail.POLL_SECONDS)
        await emit(following, "written", public=True)
        assert await socket.hear() == {"type": "changed"}
        await socket.leave()

    def goes_on(self, person: Participant, row: Experiment) -> Experiment:
        """The first experiment has its winner, and the next one begins."""
        Study.objects.update(status=Study.Status.OPEN)
        Participant.objects.update(consented_at=timezone.now())
        Experiment.objects.filter(pk=row.pk).update(status=Experiment.Status.FINISHED)
        Assignment.objects.create(participant=person, arm=Arm.objects.get(), position=2)
        assert assigning.begin_due() == 1
        following = person.experiment
        assert following is not None and following != row
        return following

    async def test_what_was_missed_is_made_up_for(self, person: Participant, row: Experiment) -> None:
        seen = await emit(row, "started", public=True)
        await emit(row, "written", public=True)
        socket = await opened(f"/ws/s/{person.token}/?after={seen.pk}")
        assert await socket.hear() == {"type": "changed"}
        await socket.leave()
        newest = await sync_to_async(events.get_last_id)(row)
        socket = await opened(f"/ws/s/{person.token}/?after={newest}")
        assert await socket.silent(0.2)
        await socket.leave()

    async def test_it_answers_pings_and_ignores_nonsense(self, person: Participant) -> None:
        socket = await opened(f"/ws/s/{person.token}/?after=nonsense")
        await socket.wire.send_input({"type": "websocket.receive", "bytes": b"\x00"})
        for text in ("", "nonsense", "[1]", '{"type": "vote", "best": "A"}', '{"type": "ping"}'):
            await socket.say(text)
        assert await socket.hear() == {"type": "pong"}
        await socket.leave()

    @pytest.mark.parametrize("after", ["9" * 5000, "%FF", "\xff"])
    async def test_an_id_that_no_event_can_have_is_as_good_as_none(self, person: Participant, after: str) -> None:
        socket = await opened(f"/ws/s/{person.token}/?after={after}")
        await socket.say('{"type": "ping"}')
        assert await socket.hear() == {"type": "pong"}
        await socket.leave()

    async def test_a_foreign_link_is_refused(self, person: Participant) -> None:
        assert await refused("/ws/s/foreign/") == 4404

    async def test_a_withdrawn_participant_is_refused(self, person: Participant) -> None:
        person.withdrawn_at = timezone.now()
        await person.asave()
        assert await refused(f"/ws/s/{person.token}/") == 4404

    async def test_another_site_may_not_listen(self, person: Participant) -> None:
        path = f"/ws/s/{person.token}/"
        await refused(path, (b"origin", b"http://evil.example"), (b"host", b"localhost"))


class TestBench:
    @pytest.mark.slow
    async def test_staff_hear_each_event_once(self, row: Experiment) -> None:
        first = await emit(row, "started", "begins")
        second = await emit(row, "written", "6 rewards")
        cookie = await sync_to_async(staff_cookie)()
        socket = await opened(f"/ws/bench/{row.public_id}/?after={first.pk}", cookie)
        assert await socket.hear() == {"type": "event", "id": second.pk, "kind": "written", "text": "6 rewards"}
        third = await emit(row, "picked", "best 1-2")
        assert (await socket.hear())["id"] == third.pk
        assert await socket.silent(4 * tail.POLL_SECONDS)
        await socket.leave()

    @pytest.mark.slow
    async def test_an_event_that_commits_late_is_heard(self, row: Experiment) -> None:
        cookie = await sync_to_async(staff_cookie)()
        socket = await opened(f"/ws/bench/{row.public_id}/", cookie)
        await Event.objects.acreate(id=1_000_005, experiment=row, kind="later")
        assert (await socket.hear())["id"] == 1_000_005
        await Event.objects.acreate(id=1_000_002, experiment=row, kind="earlier, but committed later")
        assert (await socket.hear())["id"] == 1_000_002
        await socket.leave()

    async def test_who_may_no_longer_see_it_is_cut_off_while_nothing_happens(
        self, row: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        socket = await opened(f"/ws/bench/{row.public_id}/", await sync_to_async(staff_cookie)())
        await sync_to_async(User.objects.update)(is_active=False)
        monkeypatch.setattr(tail, "RIGHTS_SECONDS", 0.0)
        assert await socket.closed() == 4403

    @pytest.mark.slow
    async def test_pages_come_again_after_an_error_that_nobody_foresaw(
        self, row: Experiment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def breaks(window: tail.Window) -> None:
            raise ZeroDivisionError("division by zero")

        cookie = await sync_to_async(staff_cookie)()
        socket = await opened(f"/ws/bench/{row.public_id}/", cookie)
        with monkeypatch.context() as broken:
            broken.setattr(tail, "collect_news", breaks)
            await emit(row, "picked", "best 1-1")
            assert await socket.closed() == 1013
        socket = await opened(f"/ws/bench/{row.public_id}/", cookie)
        await emit(row, "picked", "best 1-2")
        assert (await socket.hear())["text"] == "best 1-2"
        await socket.leave()

    async def test_others_are_refused(self, row: Experiment) -> None:
        path = f"/ws/bench/{row.public_id}/"
        assert await refused(path) == 4403
        assert await refused(path, await sync_to_async(staff_cookie)(staff=False)) == 4403
        assert await refused(f"/ws/bench/{uuid.uuid4()}/", await sync_to_async(staff_cookie)()) == 4404


async def test_nobody_listening_means_nobody_asking(person: Participant) -> None:
    socket = await opened(f"/ws/s/{person.token}/")
    task = tail.tail.task
    assert task is not None and not task.done()
    await socket.leave()
    await asyncio.wait_for(task, timeout=60)
    assert not tail.tail.queues


async def test_one_link_opens_a_few_sockets_and_all_together_have_an_end(
    person: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One link opened a thousand, and at the limit of open files the site answered nobody."""
    monkeypatch.setattr(consumers, "MOST_PAGES", {"studio": 2, "bench": 2})
    address = f"/ws/s/{person.token}/"
    first, second = await opened(address), await opened(address)
    assert await refused(address) == consumers.TRY_AGAIN_LATER
    await first.leave()
    third = await opened(address)
    monkeypatch.setattr(consumers, "MOST_PAGES", {"studio": 9, "bench": 9})
    monkeypatch.setattr(consumers, "MOST_SOCKETS", consumers.EventConsumer.sockets)
    assert await refused(address) == consumers.TRY_AGAIN_LATER
    await second.leave()
    await third.leave()
    assert consumers.EventConsumer.sockets == 0


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("http://localhost:8001", "localhost:8000", False),
        ("http://localhost", "localhost:8000", False),
        ("https://prefine.example", "web:8000", True),
        ("http://prefine.example", "web:8000", False),
        ("https://prefine.example:8443", "web:8000", False),
        ("https://a.lab.example", "web:8000", True),
        ("http://evil.example", "evil.example", False),
        ("null", "localhost", False),
        ("", "localhost", False),
        ("http://[", "localhost", False),
        ("http://[::1]:8000", "[::1]:8000", True),
    ],
)
def test_only_pages_of_the_site_itself_open_websockets(origin: str, host: str, own: bool, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://prefine.example", "https://*.lab.example"]
    assert origins.is_own_origin(origin, host) is own


async def test_another_port_is_another_site(person: Participant) -> None:
    headers = [(b"origin", b"http://localhost:9999"), (b"host", b"localhost:8000")]
    answer = await Socket(f"/ws/s/{person.token}/", headers).connect()
    assert answer["type"] == "websocket.close"
