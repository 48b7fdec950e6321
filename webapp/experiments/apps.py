from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "webapp.experiments"

    def ready(self) -> None:
        from webapp.experiments import files  # noqa: F401 (connects what deletes files)
