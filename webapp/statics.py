"""Static files, read whole: they are small, and what is streamed from a plain file is not streamed under ASGI."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        streamed = WhiteNoiseMiddleware.serve(static_file, request)
        whole = HttpResponse(b"".join(streamed), status=streamed.status_code, headers=dict(streamed.items()))
        streamed.close()
        return whole
