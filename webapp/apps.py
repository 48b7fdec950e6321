from django.apps import AppConfig


class PrefineConfig(AppConfig):
    """The product itself: its commands, and the wiring that needs every app loaded."""

    name = "webapp"

    def ready(self) -> None:
        from webapp import celery  # noqa: F401 (makes its app Celery's current one, which base.broker sends by)
