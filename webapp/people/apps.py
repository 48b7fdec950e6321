from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PeopleConfig(AppConfig):
    name = "webapp.people"

    def ready(self) -> None:
        from webapp.people import checks, roles  # noqa: F401 (registers the checks)

        post_migrate.connect(roles.grant, dispatch_uid="roles")
