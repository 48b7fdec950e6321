from __future__ import annotations

import sys
from typing import Any

from webapp import doctor
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    verb = "doctor"
    help = "Look at everything that Prefine needs here, and say what to do. Status 1 where something fails."
    requires_migrations_checks = False

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
