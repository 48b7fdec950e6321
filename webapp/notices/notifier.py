"""The notifier: it plans notices as rows and sends them one at a time. Any number of notifiers may run."""

from __future__ import annotations

import hashlib
import logging
import threading
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from webapp.base.database import BLIND_SECONDS, PollSchedule, read_now
from webapp.experiments import judges
from webapp.experiments.kinds import JUDGED_KINDS
from webapp.experiments.models import Experiment, PairSession, Request
from webapp.notices import email, push
from webapp.notices.channels import KEPT_AFTER_CLOSING
from webapp.notices.models import Address, Notice, Subscription
from webapp.review import ballot, pairs
from webapp.review.models import PairScreening
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant
from webapp.studies.texts.localizing import localize_study

log = logging.getLogger(__name__)

TICK_SECONDS = 2.0
IDLE_SECONDS = 60.0
"""How often everything is checked when nothing is written to the database."""
SEND_TIMEOUT = timedelta(minutes=5)
"""After this time a notifier that has not recorded a result is taken for dead, and another sends the notice."""
RETRY_DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480))
"""The pause after each failed attempt; after the last one the notice is given up."""
FIRST_HOUR, LAST_HOUR = 9, 20
"""Reminders are sent in the daytime of the person's time zone."""
CHANNELS: dict[Notice.Channel, dict[str, bool]] = {
    Notice.Channel.EMAIL: {"participant__address__isnull": False, "participant__study__notify_email": True},
    Notice.Channel.PUSH: {"participant__subscriptions__isnull": False, "participant__study__notify_push": True},
}
"""Filters for the assignments of participants that each channel can reach."""


def tick() -> None:
    """Delete contacts that are no longer needed, plan notices, send what is due."""
    delete_contacts()
    plan_notices()
    due = find_unsent().filter(due_at__lte=read_now())
    for pk in list(due.values_list("pk", flat=True)[:100]):
        send_notice(pk)


def find_unsent() -> QuerySet[Notice]:
    return Notice.objects.filter(sent_at=None, dropped="").order_by("due_at")


def compute_wait_seconds() -> float:
    """Seconds until a notice is due or everything is checked again."""
    due_at = find_unsent().values_list("due_at", flat=True).first()
    return min(IDLE_SECONDS, (due_at - read_now()).total_seconds()) if due_at else IDLE_SECONDS


def delete_contacts() -> None:
    """Delete addresses and subscriptions of people whose part is over, and of studies that closed long ago."""
    over = ~Q(participant__outcome="") | ~Q(participant__withdrawn_at=None) | ~Q(participant__finished_at=None)
    over |= Q(participant__study__closed_at__lt=timezone.now() - KEPT_AFTER_CLOSING)
    for model in (Address, Subscription):
        model._default_manager.filter(over).delete()


def find_waiting(channel: Notice.Channel) -> list[tuple[Participant, int, int]]:
    """The participants who can be reached by this channel and have no notice yet, with the request that waits, and its
    session of pairs or 0.
    """
    noticed = Notice.objects.filter(
        participant=OuterRef("participant"), request=OuterRef("experiment__requests"), channel=channel
    )
    places = Assignment.objects.filter(
        ~Exists(noticed),
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
    rounds = [(place.participant, place.waits, 0) for place in found]
    return rounds + [row for session in pairs.list_waiting_sessions() for row in _find_waiting_for(session, channel)]


def _find_waiting_for(session: PairSession, channel: Notice.Channel) -> list[tuple[Participant, int, int]]:
    """The participants of one session of pairs who wait and were not told yet, like `find_waiting`."""
    if session.request.experiment.paused or not pairs.lacks_answers(session):
        return []
    same = {"participant": OuterRef("participant"), "request": session.request, "session": session.number}
    places = assigning.find_members(session.request.experiment).filter(participant__outcome="", **CHANNELS[channel])
    waiting = places.exclude(Exists(Notice.objects.filter(channel=channel, **same))).distinct()
    people = [place.participant for place in waiting if _lacks_answers_of(session, place.participant)]
    return [(person, session.request_id, session.number) for person in people]


def _lacks_answers_of(session: PairSession, person: Participant) -> bool:
    """Whether a session lacks answers, and the person has not answered all of its pairs."""
    answered = PairScreening.objects.filter(participant=person, pair__session=session, released_at=None)
    answered = answered.exclude(answer="")
    left = session.pairs.filter(answer="").exclude(pk__in=answered.values("pair"))
    return left.exists() and pairs.lacks_answers(session)


def plan_notices() -> None:
    """A row for each person, request and channel that has none. Two notifiers at once make one row."""
    for channel in CHANNELS:
        for person, request_id, session in find_waiting(channel):
            about = Notice(participant=person, request_id=request_id, session=session, channel=channel)
            Notice.objects.bulk_create(_make_notices(about), ignore_conflicts=True)


def _make_notices(about: Notice) -> list[Notice]:
    now = read_now()
    rows = [(Notice.Kind.READY, now)]
    if settings.REMINDER_HOURS:
        due = move_to_daytime(now + timedelta(hours=settings.REMINDER_HOURS), about.participant.timezone)
        rows.append((Notice.Kind.REMINDER, due))
    same = {name: getattr(about, name) for name in ("participant", "request_id", "session", "channel")}
    return [Notice(**same, kind=kind, due_at=due) for kind, due in rows]


def move_to_daytime(moment: datetime, zone: str) -> datetime:
    """This moment, or the next morning if it is night."""
    local = moment.astimezone(email.find_timezone(zone))
    if FIRST_HOUR <= local.hour < LAST_HOUR:
        return moment
    day = local.date() + timedelta(days=local.hour >= LAST_HOUR)
    return datetime(day.year, day.month, day.day, FIRST_HOUR, tzinfo=local.tzinfo)


def send_notice(pk: int) -> None:
    """Send a notice if it is still needed and no other notifier is sending it."""
    now = read_now()
    mine = Notice.objects.filter(pk=pk, sent_at=None, dropped="", due_at__lte=now)
    if not mine.update(due_at=now + SEND_TIMEOUT, attempts=F("attempts") + 1):
        return
    notice = Notice.objects.select_related("participant__study", "request__experiment").get(pk=pk)
    if notice.request.experiment.paused:
        Notice.objects.filter(pk=pk).update(attempts=F("attempts") - 1)  # tried again after SEND_TIMEOUT
        return
    reason = find_drop_reason(notice)
    if reason:
        Notice.objects.filter(pk=pk).update(dropped=reason)
        return
    person = notice.participant
    try:
        with translation.override(person.language or person.study.language):
            localize_study(person.study, person.language or person.study.language)
            sent = _send_by_email(notice) if notice.channel == Notice.Channel.EMAIL else _send_by_push(notice)
    except (SMTPException, OSError, push.PushFailed) as error:
        _record_failure(notice, error)
        return
    if sent:
        Notice.objects.filter(pk=pk).update(sent_at=Now(), error="")
    else:
        Notice.objects.filter(pk=pk).update(dropped="no way to reach")


def find_drop_reason(notice: Notice) -> str:
    """Why the notice should not be sent any more; empty if it should."""
    person, request = notice.participant, notice.request
    if person.withdrawn_at or person.outcome:
        return "left the study"
    if request.status != Request.Status.OPEN or ballot.find_standing_vote(request, person):
        return "answered already"
    session = notice.pair_session
    if notice.session and (session is None or not _lacks_answers_of(session, person)):
        return "answered already"
    if not request.experiment.live:
        return "experiment ended"
    return ""


def _send_by_email(notice: Notice) -> bool:
    address = Address.objects.filter(participant=notice.participant).first()
    if address is None or not settings.EMAIL_READY:
        return False
    email.send(notice, address)
    return True


def _send_by_push(notice: Notice) -> bool:
    """Send to each of the person's browsers. If one is reached, the failure of another is ignored."""
    about = f"{notice.request_id} {notice.session} {notice.participant.token}"
    topic = hashlib.sha256(about.encode()).hexdigest()[:32]
    text = {
        "title": _(email.SUBJECTS[Notice.Kind(notice.kind)]),
        "body": _("The videos are waiting for you."),
        "url": notice.participant.get_absolute_url(),
        "tag": topic,
    }
    reached, failure = False, None
    for subscription in Subscription.objects.filter(participant=notice.participant):
        try:
            push.send(subscription, text, topic)
            reached = True
        except push.SubscriptionEnded:
            subscription.delete()
        except push.PushFailed as error:
            failure = error
    if failure and not reached:
        raise failure
    return reached


def _record_failure(notice: Notice, error: Exception) -> None:
    """Record the error without the mail server's text, which may contain the address, and try again later."""
    code = getattr(error, "smtp_code", "")
    text = str(error) if isinstance(error, push.PushFailed) else f"{type(error).__name__} {code}".strip()
    log.warning("notice %s was not sent: %s", notice.pk, text)
    changes = {"error": text[:300]}
    if notice.attempts > len(RETRY_DELAYS):
        Notice.objects.filter(pk=notice.pk).update(dropped="given up", **changes)
    else:
        Notice.objects.filter(pk=notice.pk).update(due_at=Now() + RETRY_DELAYS[notice.attempts - 1], **changes)


def run(stop: threading.Event) -> None:
    """Run until `stop` is set. If the database is away, try again."""
    watch = PollSchedule(BLIND_SECONDS)
    while not stop.wait(TICK_SECONDS):
        if not watch.is_due():
            continue
        try:
            tick()
            watch.rest(compute_wait_seconds())
        except (OperationalError, InterfaceError) as error:
            log.warning("the database did not answer: %s", error)
        close_old_connections()
