from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "webapp.accounts"

    def ready(self) -> None:
        from webapp.accounts import checks, roles  # noqa: F401 (registers the checks)

        post_migrate.connect(roles.grant_rights, dispatch_uid="roles")
