"""Notices by e-mail. They contain a link and how to stop them, and nothing about what the study compares."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as format_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from webapp.notices.models import Address, Notice

SUBJECTS = {
    Notice.Kind.READY: gettext_noop("Your next round is ready"),
    Notice.Kind.REMINDER: gettext_noop("Your next round is still waiting"),
}


def find_timezone(name: str) -> ZoneInfo:
    """The time zone with this name; UTC if there is none."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def format_moment(moment: datetime, zone: ZoneInfo) -> str:
    """For example: Friday 20 November, 15:42 (Europe/Berlin)."""
    return f"{format_date(moment.astimezone(zone), pgettext('date format', 'l j F, H:i'))} ({zone.key})"


def send(notice: Notice, address: Address) -> None:
    """Raises smtplib.SMTPException or OSError."""
    study = notice.participant.study
    stop = settings.SITE_URL.rstrip("/") + reverse("stop_notices", args=[address.token])
    context = {
        "study": study,
        "link": settings.SITE_URL.rstrip("/") + notice.participant.get_absolute_url(),
        "stop": stop,
        "since": format_moment(notice.asked_at, find_timezone(notice.participant.timezone)),
    }
    message = EmailMessage(
        subject=_(SUBJECTS[Notice.Kind(notice.kind)]),
        body=render_to_string(f"notices/{notice.kind}.txt", context),
        to=[address.email],
        headers={
            "Message-ID": f"<notice-{notice.pk}-{int(notice.created_at.timestamp())}@{settings.MAIL_DOMAIN}>",
            "Date": timezone.now().strftime("%a, %d %b %Y %H:%M:%S +0000"),
            "List-Unsubscribe": f"<{stop}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            "Auto-Submitted": "auto-generated",
        },
    )
    message.send()
