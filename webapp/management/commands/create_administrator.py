from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Create the first administrator, with PREFINE_ADMIN_PASSWORD or a password that is printed once."

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model()
        if user.objects.filter(is_superuser=True).exists():
            return
        password = settings.ADMIN_PASSWORD or secrets.token_urlsafe(9)
        user.objects.create_superuser("admin", password=password)
        if settings.ADMIN_PASSWORD:
            self.stdout.write("Created the administrator admin, with the password in PREFINE_ADMIN_PASSWORD.")
            return
        self.stdout.write(
            f"\n  Administrator: admin   password: {password}"
            f"\n  Shown once. Another one: ./prefine manage changepassword admin\n"
        )
