from django.apps import AppConfig


class BenchConfig(AppConfig):
    """Staff's pages, with the forms of the admin."""

    name = "webapp.bench"
