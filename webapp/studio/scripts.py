"""The studio's scripts, several in one file, so that a page needs one request for them."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_safe

ROUNDS = ("keys", "player", "loader", "watch", "choice", "review", "completion_code", "questions")
BUNDLES = {
    "live": ("live", "tell"),
    "rounds": ROUNDS,
    "pairs": (*ROUNDS, "pairs"),
    "ballot": ("player", "keys", "choice", "vote"),
}
"""The files of each bundle in `static/studio/`, in the order in which they run."""


@cache
def read_bundle(bundle: str) -> str:
    """The scripts of a bundle as one text. An error in one of them does not keep the next from running."""
    texts = [_shorten(Path(str(finders.find(f"studio/{name}.js"))).read_text()) for name in BUNDLES[bundle]]
    guarded = (f"try {{\n{text}}} catch (error) {{ setTimeout(() => {{ throw error; }}); }}\n" for text in texts)
    return '"use strict";\n' + "".join(guarded)


def _shorten(text: str) -> str:
    """The script without comments that fill whole lines, and without indentation."""
    text = re.sub(r"^\s*/\*(?:(?!\*/).)*\*/\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^\s+", "", text, flags=re.MULTILINE)


@cache
def find_address(bundle: str) -> str:
    """The address of a bundle; it changes when the scripts do, so that browsers may keep them."""
    return reverse("scripts", args=[bundle, hashlib.sha256(read_bundle(bundle).encode()).hexdigest()[:12]])


@require_safe
def serve_bundle(request: HttpRequest, bundle: str, version: str) -> HttpResponse:
    """The scripts of a bundle. A page that an earlier version wrote gets today's, which no browser keeps."""
    if bundle not in BUNDLES:
        raise Http404
    response = HttpResponse(read_bundle(bundle), content_type="text/javascript; charset=utf-8")
    current = request.path == find_address(bundle)
    response["Cache-Control"] = "public, max-age=31536000, immutable" if current else "no-cache"
    return response


urlpatterns = [path("scripts/<slug:bundle>/<slug:version>.js", serve_bundle, name="scripts")]
