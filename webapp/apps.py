import gc

from django.apps import AppConfig


class PrefineConfig(AppConfig):
    """The product itself: its commands, and the wiring that needs every app loaded."""

    name = "webapp"

    def ready(self) -> None:
        from webapp import celery, error_reports  # celery makes its app the current one, which base.broker sends by

        assert celery.app
        error_reports.start()
        gc.freeze()  # no collection looks at loaded modules again, not even the last: commands end sooner
