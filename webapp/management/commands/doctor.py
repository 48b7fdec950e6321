from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from webapp import doctor
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    verb = "doctor"
    help = "Look at everything that Prefine needs here, and say what to do. Status 1 where something fails."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="each finding as a line of JSON, and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"]:
            self.write_json()
            return
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

    def write_json(self) -> None:
        """For programs, which read how bad it is from the lines: the exit status is 0."""
        for name, finding in doctor.examine():
            self.stdout.write(json.dumps({"about": name, **asdict(finding)}))
