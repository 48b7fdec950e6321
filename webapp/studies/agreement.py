"""The check of a consent form, which studies and A/B votes share."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _


def check_agreement(request: HttpRequest, consent_hash: str) -> bool:
    """Whether the form's box is ticked under the text with this hash; if not, the next page says why."""
    if request.POST.get("hash") != consent_hash:
        messages.warning(request, _("The text was changed while you were reading. Please read this version."))
    elif request.POST.get("agree") != "yes":
        messages.warning(request, _("To take part, please tick the box that says you agree. You may also just leave."))
    else:
        return True
    return False
