"""HTTP and websockets."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

from webapp.base.private_files import write_private_files

write_private_files()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
http = get_asgi_application()

from webapp.live.consumers import BenchConsumer, StudioConsumer  # noqa: E402  (needs the apps loaded)
from webapp.live.origins import OwnOriginOnly  # noqa: E402

sockets = URLRouter(
    [
        path("ws/s/<str:token>/", StudioConsumer.as_asgi()),
        path("ws/bench/<uuid:public_id>/", BenchConsumer.as_asgi()),
    ]
)
application = ProtocolTypeRouter({"http": http, "websocket": OwnOriginOnly(AuthMiddlewareStack(sockets))})
