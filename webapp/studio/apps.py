from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Participants' and evaluators' pages."""

    name = "webapp.studio"
