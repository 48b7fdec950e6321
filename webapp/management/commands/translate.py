from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from webapp.management import catalogs


class Command(BaseCommand):
    help = "Write the strings of participants' pages into locale/, compile what is translated, and say what is missing."

    def handle(self, *args: Any, **options: Any) -> None:
        for domain in catalogs.DOMAINS:
            template = catalogs.extract(domain)
            for locale in catalogs.list_locales():
                catalog = catalogs.update(locale, domain, template)
                catalogs.write(locale, domain, catalog)
                missing = catalogs.list_missing(catalog)
                self.stdout.write(f"{locale} {domain}: {len(catalog) - len(missing)} of {len(catalog)}")
                for text in missing:
                    self.stdout.write(f"  {text!r}")
