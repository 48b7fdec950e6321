from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from webapp.audit import chain
from webapp.audit.models import Entry, Head
from webapp.base.commands import PrefineCommand


class Command(PrefineCommand):
    help = "Check the audit log's chain. Exit status 1 if a row was changed, removed or inserted."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--expect",
            metavar="NUMBER:HASH",
            help="a number and hash that this command printed before; a rewritten log cannot reproduce it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        chain.seal_entries()
        wrong = list(chain.find_breaks())
        if options["expect"]:
            number, _, digest = options["expect"].partition(":")
            known = Entry.objects.filter(number=int(number) if number.isdecimal() else -1).first()
            if known is None or known.hash != digest:
                wrong.append(f"Row {number} is not the one that was noted: the log was rewritten or replaced.")
        if wrong:
            raise CommandError("The chain does not hold.\n" + "\n".join(wrong))
        head = Head.objects.filter(pk=1).first() or Head()
        self.stdout.write(
            f"The chain holds: {head.number} rows. Note this to check it later: {head.number}:{head.hash}"
        )
