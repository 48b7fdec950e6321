from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from webapp import doctor
from webapp.experiments.options import DJANGO_OPTIONS


class Command(BaseCommand):
    help = "Look at everything that Prefine needs here, and say what to do. Status 1 where something fails."
    suppressed_base_arguments = DJANGO_OPTIONS
    requires_migrations_checks = False
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.prog = "./prefine doctor"  # as users call it
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(doctor.describe_machine())
        states = []
        for name, finding in doctor.examine():
            states.append(finding.state)
            self.stdout.write(f"{finding.state:<5} {name:<11} {finding.text}")
            if finding.advice:
                self.stdout.write(f"{'':<18}-> {finding.advice}")
            self.stdout.flush()
        self.stdout.write(f"{states.count('fail')} fail, {states.count('warn')} warn, {states.count('ok')} ok")
        sys.exit(1 if "fail" in states else 0)
