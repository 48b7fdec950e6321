"""What every test of pages needs: static files without a build, media in a folder of its own."""

import pytest
from django.core.cache import cache

from tests.webapp.asked import method, without_beats  # noqa: F401
from tests.webapp.packages import taken  # noqa: F401
from tests.webapp.servers import postgres, redis, stack  # noqa: F401


@pytest.fixture(autouse=True)
def folders(settings, tmp_path_factory):
    cache.clear()  # it counts what an address may do
    settings.MEDIA_ROOT = tmp_path_factory.mktemp("media")
    settings.STATIC_ROOT = tmp_path_factory.mktemp("static")
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
