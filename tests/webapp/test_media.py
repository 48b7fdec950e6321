"""Clips and posters by ticket: ranges, caching, and nothing that tells one viewer's copy from another's."""

import asyncio
import threading

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp import rows
from tests.webapp.object_storage import store_url
from tests.webapp.servers import free_port
from webapp.base.s3_store import S3Store
from webapp.base.store import store
from webapp.base.store_address import read_address
from webapp.experiments.models import Clip
from webapp.review import media
from webapp.review.models import ClipTicket

pytestmark = pytest.mark.django_db(transaction=True)
DATA = bytes(range(256)) * 40


@pytest.fixture
def ticket(any_store):
    person = rows.participant()
    rows.create_round(person)
    clip = Clip.objects.first()
    store.publish(clip.video, DATA)
    store.publish(clip.poster, b"\xff\xd8 a poster")
    return ClipTicket.objects.create(participant=person, clip=clip)


async def get(client, ticket, name="clip", **headers):
    response = await client.get(reverse(name, args=[ticket.token]), headers=headers)
    body = b"".join([part async for part in response]) if response.streaming else response.content
    return response, body


async def test_whole(async_client, ticket):
    response, body = await get(async_client, ticket)
    assert response.status_code == 200 and body == DATA
    assert response["Content-Type"] == "video/mp4" and response["Accept-Ranges"] == "bytes"
    assert response["Content-Length"] == str(len(DATA))
    assert "private" in response["Cache-Control"]


async def test_poster(async_client, ticket):
    response, body = await get(async_client, ticket, "poster")
    assert response["Content-Type"] == "image/jpeg" and body[:2] == b"\xff\xd8"


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-", 0, len(DATA) - 1),
        ("bytes=0-0", 0, 0),
        ("bytes=100-199", 100, 199),
        ("bytes=10000-99999999", 10000, len(DATA) - 1),
        ("bytes=-5", len(DATA) - 5, len(DATA) - 1),
        ("bytes=-99999999", 0, len(DATA) - 1),
    ],
)
async def test_range(async_client, ticket, asked, first, last):
    response, body = await get(async_client, ticket, Range=asked)
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {first}-{last}/{len(DATA)}"
    assert body == DATA[first : last + 1] and response["Content-Length"] == str(len(body))


@pytest.mark.parametrize("asked", [f"bytes={len(DATA)}-", "bytes=-0", "bytes=99999999-"])
async def test_range_that_cannot_be_satisfied(async_client, ticket, asked):
    response, _ = await get(async_client, ticket, Range=asked)
    assert response.status_code == 416 and response["Content-Range"] == f"bytes */{len(DATA)}"


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=-", "bytes=x-y", "pages=1-2", "bytes"])
async def test_what_is_not_one_range_is_ignored(async_client, ticket, asked):
    response, body = await get(async_client, ticket, Range=asked)
    assert response.status_code == 200 and body == DATA


async def test_unchanged(async_client, ticket):
    response, _ = await get(async_client, ticket)
    again, body = await get(async_client, ticket, **{"If-None-Match": response["ETag"]})
    assert again.status_code == 304 and body == b""
    stale, body = await get(async_client, ticket, Range="bytes=0-4", **{"If-Range": '"another"'})
    assert stale.status_code == 200 and body == DATA


async def test_head(async_client, ticket):
    response = await async_client.head(reverse("clip", args=[ticket.token]))
    assert response.status_code == 200 and response["Content-Length"] == str(len(DATA)) and not response.content


async def test_copies_of_two_viewers_have_nothing_in_common(async_client, ticket):
    other = await ClipTicket.objects.acreate(participant=await another(), clip=ticket.clip)
    mine, _ = await get(async_client, ticket)
    theirs, _ = await get(async_client, other)
    assert mine["ETag"] != theirs["ETag"]
    for response in (mine, theirs):
        assert "Last-Modified" not in response and "Content-Disposition" not in response
        assert str(ticket.clip.name) not in str(response.headers)


async def another():
    from asgiref.sync import sync_to_async

    return await sync_to_async(rows.participant)(label="P08")


async def test_foreign_ticket(async_client):
    response = await async_client.get(reverse("clip", args=["nobody-has-this"]))
    assert response.status_code == 404


async def test_withdrawn(async_client, ticket):
    person = ticket.participant
    person.withdrawn_at = timezone.now()
    await person.asave()
    response, body = await get(async_client, ticket)
    assert response.status_code == 404 and body == b""


@pytest.mark.slow
async def test_clip_that_failed_or_is_gone(async_client, ticket):
    store.delete(ticket.clip.video)
    response, _ = await get(async_client, ticket)
    assert response.status_code == 404
    await Clip.objects.filter(pk=ticket.clip_id).aupdate(status=Clip.Status.FAILED)
    response, _ = await get(async_client, ticket, "poster")
    assert response.status_code == 404


async def test_a_store_that_is_away_delays_a_clip_and_nothing_else(rf, ticket, monkeypatch):
    """Its address is in no answer, and other requests are answered meanwhile."""
    away = S3Store(read_address(store_url(free_port(), "bucket")))
    waiting = threading.Event()

    def size(key):
        assert waiting.wait(60)
        return away.size(key)

    monkeypatch.setattr(store, "size", size)
    asked = asyncio.create_task(
        asyncio.to_thread(media.respond_with_clip, rf.get("/"), ticket.clip.video, "video/mp4", "x")
    )
    await asyncio.sleep(0.1)  # the event loop goes on
    assert not asked.done()
    waiting.set()
    response = await asked
    assert response.status_code == 503 and not response.content and "127.0.0.1" not in str(response.headers)
