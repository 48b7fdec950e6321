"""HTTP and websockets."""

import os
import sys

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.urls import path

from webapp.base.private_files import write_private_files

write_private_files()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
sys.setswitchinterval(0.001)
"""A request that waited for the database goes on soon, also while pages use the processor (Python's own: 5 ms)."""

from webapp.base.page_threads import make_application  # noqa: E402  (needs the name of the settings)

http = make_application()

import webapp.urls  # noqa: E402, F401  (loads all views, so that the first page does not wait for them)
from webapp.live.consumers import BenchConsumer, StudioConsumer  # noqa: E402  (needs the apps loaded)
from webapp.live.origins import OwnOriginOnly  # noqa: E402

sockets = URLRouter(
    [
        path("ws/s/<str:token>/", StudioConsumer.as_asgi()),
        path("ws/bench/<uuid:public_id>/", BenchConsumer.as_asgi()),
    ]
)
application = ProtocolTypeRouter({"http": http, "websocket": OwnOriginOnly(AuthMiddlewareStack(sockets))})
