"""What `./prefine up` does before it starts the processes; running it again changes nothing."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrate the database, collect static files, create an administrator and the demonstration studies."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        call_command("collectstatic", verbosity=0, interactive=False)
        self.create_administrator()
        call_command("demonstration", verbosity=0)

    def create_administrator(self) -> None:
        user = get_user_model()
        if user.objects.filter(is_superuser=True).exists():
            return
        password = secrets.token_urlsafe(9)
        user.objects.create_superuser("admin", password=password)
        self.stdout.write(
            f"\n  Administrator: admin   password: {password}"
            f"\n  Shown once. Another one: ./prefine manage changepassword admin\n"
        )
