"""Whether somebody agreed to the consent text that they were shown: studies and A/B votes ask in the same way."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest


def agreed(request: HttpRequest, consent_hash: str) -> bool:
    """Whether the form's box is ticked under the text of this hash; else the next page says why not."""
    if request.POST.get("hash") != consent_hash:
        messages.warning(request, "The text was changed while you were reading. Please read this version.")
    elif request.POST.get("agree") != "yes":
        messages.warning(request, "To take part, please tick the box that says you agree. You may also just leave.")
    else:
        return True
    return False
