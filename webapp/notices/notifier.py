"""Who waits is told: rows say what is to be sent, and are taken one at a time. Any number of notifiers may run."""

from __future__ import annotations

import hashlib
import logging
import threading
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from webapp.base.database import PollSchedule
from webapp.experiments import judges
from webapp.experiments.kinds import JUDGED_KINDS
from webapp.experiments.models import Experiment, Request
from webapp.notices import email, push
from webapp.notices.channels import KEPT_AFTER_CLOSING
from webapp.notices.models import Address, Notice, Subscription
from webapp.review import ballot
from webapp.studies.models import Assignment, Participant

log = logging.getLogger(__name__)

TICK_SECONDS = 2.0
IDLE_SECONDS = 60.0
"""Where nobody writes, all is looked at this often."""
BEING_SENT = timedelta(minutes=5)
"""A notifier that has not said so long how it went has died: another takes the message up."""
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480))
"""After each failed attempt; then it is given up."""
FIRST_HOUR, LAST_HOUR = 9, 20
"""Reminders come in the daytime of the person's own zone."""
CHANNELS: dict[Notice.Channel, dict[str, bool]] = {
    Notice.Channel.EMAIL: {"participant__address__isnull": False, "participant__study__notify_email": True},
    Notice.Channel.PUSH: {"participant__subscriptions__isnull": False, "participant__study__notify_push": True},
}
"""Whom each reaches."""


def tick() -> None:
    """Forget whom nobody needs to reach any more, note who waits, send what is due."""
    forget()
    plan()
    due = unsent().filter(due_at__lte=timezone.now())
    for pk in list(due.values_list("pk", flat=True)[:100]):
        deliver(pk)


def unsent() -> QuerySet[Notice]:
    return Notice.objects.filter(sent_at=None, dropped="").order_by("due_at")


def seconds_to_next() -> float:
    """Until a notice is due, or all is looked at again."""
    due_at = unsent().values_list("due_at", flat=True).first()
    return min(IDLE_SECONDS, (due_at - timezone.now()).total_seconds()) if due_at else IDLE_SECONDS


def forget() -> None:
    """Addresses and subscriptions of those whose part is over, and of studies that were closed a while ago."""
    over = ~Q(participant__outcome="") | ~Q(participant__withdrawn_at=None) | ~Q(participant__finished_at=None)
    over |= Q(participant__study__closed_at__lt=timezone.now() - KEPT_AFTER_CLOSING)
    for model in (Address, Subscription):
        model._default_manager.filter(over).delete()


def waiting(channel: Notice.Channel) -> list[tuple[Participant, int]]:
    """Who can be told so, has not been, and the request that waits for them. In a panel it waits for several."""
    told = Notice.objects.filter(
        participant=OuterRef("participant"), request=OuterRef("experiment__requests"), channel=channel
    )
    places = Assignment.objects.filter(
        ~Exists(told),
        experiment__requests__kind__in=JUDGED_KINDS,
        experiment__requests__status=Request.Status.OPEN,
        experiment__judge__in=judges.ASKING_PEOPLE,
        experiment__status__in=[Experiment.Status.RUNNING, Experiment.Status.WAITING],
        experiment__paused=False,
        participant__outcome="",
        participant__withdrawn_at=None,
        **CHANNELS[channel],
    )
    found = places.select_related("participant").annotate(waits=F("experiment__requests__pk")).distinct()
    return [(place.participant, place.waits) for place in found]


def plan() -> None:
    """A row for each person, request and way that has none. Two notifiers at once still make one."""
    for channel in CHANNELS:
        for person, request_id in waiting(channel):
            Notice.objects.bulk_create(_notices(person, request_id, channel), ignore_conflicts=True)


def _notices(person: Participant, request_id: int, channel: Notice.Channel) -> list[Notice]:
    rows = [Notice(participant=person, request_id=request_id, channel=channel, kind=Notice.Kind.READY)]
    if settings.REMINDER_HOURS:
        due = daytime(timezone.now() + timedelta(hours=settings.REMINDER_HOURS), person.timezone)
        reminder = Notice.Kind.REMINDER
        rows.append(Notice(participant=person, request_id=request_id, channel=channel, kind=reminder, due_at=due))
    return rows


def daytime(moment: datetime, zone: str) -> datetime:
    """This moment, or the next morning where it is night."""
    local = moment.astimezone(email.zone_of(zone))
    if FIRST_HOUR <= local.hour < LAST_HOUR:
        return moment
    day = local.date() + timedelta(days=local.hour >= LAST_HOUR)
    return datetime(day.year, day.month, day.day, FIRST_HOUR, tzinfo=local.tzinfo)


def deliver(pk: int) -> None:
    """Send one, if it is still wanted and nobody else is sending it."""
    now = timezone.now()
    mine = Notice.objects.filter(pk=pk, sent_at=None, dropped="", due_at__lte=now)
    if not mine.update(due_at=now + BEING_SENT, attempts=F("attempts") + 1):
        return
    notice = Notice.objects.select_related("participant__study", "request__experiment").get(pk=pk)
    if notice.request.experiment.paused:
        Notice.objects.filter(pk=pk).update(attempts=F("attempts") - 1)  # looked at again when BEING_SENT is over
        return
    reason = unwanted(notice)
    if reason:
        Notice.objects.filter(pk=pk).update(dropped=reason)
        return
    try:
        sent = _by_email(notice) if notice.channel == Notice.Channel.EMAIL else _by_push(notice)
    except (SMTPException, OSError, push.PushFailed) as error:
        _failed(notice, error)
        return
    if sent:
        Notice.objects.filter(pk=pk).update(sent_at=timezone.now(), error="")
    else:
        Notice.objects.filter(pk=pk).update(dropped="no way to reach")


def unwanted(notice: Notice) -> str:
    """Why it should not be sent any more; empty where it should."""
    person, request = notice.participant, notice.request
    if person.withdrawn_at or person.outcome:
        return "left the study"
    if request.status != Request.Status.OPEN or ballot.find_standing_vote(request, person):
        return "answered already"
    if not request.experiment.live:
        return "experiment ended"
    return ""


def _by_email(notice: Notice) -> bool:
    address = Address.objects.filter(participant=notice.participant).first()
    if address is None or not settings.EMAIL_READY:
        return False
    email.send(notice, address)
    return True


def _by_push(notice: Notice) -> bool:
    """To each of the person's browsers. One that fails alone is not tried again once another was reached."""
    topic = hashlib.sha256(f"{notice.request_id} {notice.participant.token}".encode()).hexdigest()[:32]
    text = {
        "title": email.SUBJECTS[Notice.Kind(notice.kind)],
        "body": "The videos are waiting for you.",
        "url": notice.participant.get_absolute_url(),
        "tag": topic,
    }
    reached, failure = False, None
    for subscription in Subscription.objects.filter(participant=notice.participant):
        try:
            push.send(subscription, text, topic)
            reached = True
        except push.Ended:
            subscription.delete()
        except push.PushFailed as error:
            failure = error
    if failure and not reached:
        raise failure
    return reached


def _failed(notice: Notice, error: Exception) -> None:
    """Try again later, ever later; the error without what a mail server may say about the address."""
    text = str(error) if isinstance(error, push.PushFailed) else f"{type(error).__name__} {_code(error)}".strip()
    log.warning("notice %s was not sent: %s", notice.pk, text)
    changes = {"error": text[:300]}
    if notice.attempts > len(PAUSES):
        Notice.objects.filter(pk=notice.pk).update(dropped="given up", **changes)
    else:
        Notice.objects.filter(pk=notice.pk).update(due_at=timezone.now() + PAUSES[notice.attempts - 1], **changes)


def _code(error: Exception) -> str:
    return str(getattr(error, "smtp_code", ""))


def run(stop: threading.Event) -> None:
    """Until told to stop. A database that is away is asked again."""
    watch = PollSchedule()
    while not stop.wait(TICK_SECONDS):
        if not watch.is_due():
            continue
        try:
            tick()
            watch.rest(seconds_to_next())
        except (OperationalError, InterfaceError) as error:
            log.warning("the database did not answer: %s", error)
        close_old_connections()
