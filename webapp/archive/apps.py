from django.apps import AppConfig


class ArchiveConfig(AppConfig):
    name = "webapp.archive"

    def ready(self) -> None:
        from webapp.archive import redaction
        from webapp.experiments.signals import training_begins

        training_begins.connect(redaction.finish_redactions, dispatch_uid="finish redactions")
