"""The language of participants' and evaluators' pages. Staff's pages are in English, whatever the browser asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import JavaScriptCatalog

from webapp.accounts.middleware import is_staff_path

COOKIE = settings.LANGUAGE_COOKIE_NAME
YEAR = 365 * 24 * 3600


def list_languages() -> list[str]:
    """The languages that Prefine speaks."""
    return [code for code, _ in settings.LANGUAGES]


class LanguageMiddleware(MiddlewareMixin):
    """Begins each page in the browser's language; `use_language` then chooses among those of the study."""

    def process_request(self, request: HttpRequest) -> None:
        if is_staff_path(request.path):
            translation.activate(settings.LANGUAGE_CODE)
        else:
            use_language(request, list_languages())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        translation.deactivate()
        return response


def use_language(request: HttpRequest, offered: Sequence[str], kept: str = "") -> str:
    """Activate the best of the offered languages for this request, and return it.

    The person's choice in this browser comes first, then `kept`, the language they had before, then what the browser
    asks for, then the first that is offered.
    """
    request.offered_languages = list(offered)  # type: ignore[attr-defined]
    wanted = [request.COOKIES.get(COOKIE, ""), kept, *_read_browser_languages(request)]
    code = next((code for code in wanted if code in offered), offered[0])
    translation.activate(code)
    return code


def find_choice(request: HttpRequest) -> str:
    """The language that the person chose in this browser; empty if they chose none that is offered."""
    chosen = request.COOKIES.get(COOKIE, "")
    return chosen if chosen in getattr(request, "offered_languages", ()) else ""


def _read_browser_languages(request: HttpRequest) -> list[str]:
    """The languages that the browser asks for, the preferred first, by the names that Prefine has for them."""
    found = []
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code != "*":
            try:
                found.append(translation.get_supported_language_variant(code))
            except LookupError:
                continue
    return found


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Remember a language in this browser, and go back to the page."""
    page = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(page, None):
        page = reverse("home")
    response = redirect(page)
    code = request.POST.get("language", "")
    if code in list_languages():
        secure = settings.SESSION_COOKIE_SECURE
        response.set_cookie(COOKIE, code, max_age=YEAR, httponly=True, secure=secure, samesite="Lax")
    return response


@cache
def find_words_address(language: str) -> str:
    """The address of the scripts' words; it changes when they do, so that browsers may keep them."""
    files = [
        Path(folder) / translation.to_locale(language) / "LC_MESSAGES" / "djangojs.mo" for folder in _list_folders()
    ]
    content = b"".join(file.read_bytes() for file in files if file.exists())
    return reverse("words", args=[language, hashlib.sha256(content).hexdigest()[:12]])


def _list_folders() -> list[str]:
    return [str(folder) for folder in settings.LOCALE_PATHS]


@require_safe
def serve_words(request: HttpRequest, language: str, version: str) -> HttpResponseBase:
    """The words of the scripts in one language, with `gettext`, `ngettext` and `interpolate`."""
    if language not in list_languages():
        raise Http404
    with translation.override(language):
        response = JavaScriptCatalog.as_view(packages=["webapp.studio"])(request)
    current = request.path == find_words_address(language)
    response["Cache-Control"] = "public, max-age=31536000, immutable" if current else "no-cache"
    return response


urlpatterns = [
    path("language/", choose_language, name="choose_language"),
    path("words/<str:language>/<slug:version>.js", serve_words, name="words"),
]
