from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from webapp.experiments.defaults import find_environment_model
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.studies.models import Arm, Study

CONSENT = """\
What this is about. Robots in a simulation learn to move. A program writes several rules for what counts as good, a \
robot is trained under each, and you say which one looks best and which looks worst. From that the program writes \
better rules. This study shows how that works; it is not a scientific experiment.

What you do. In each round you wait until the robots have been trained and filmed, then you watch the films next to \
each other and pick the best and the worst. If you like, you say why. At the end you pick the winner among your \
favourites.

How long it takes. {duration}

What is kept. Your picks, your reasons if you write any, and when you looked and clicked. No name, no address, nothing \
else about you. It is kept on this computer until the person who runs this site deletes it. Your picks and reasons \
are told to the program that writes the rules; if this site uses a language model of somebody else, they are sent there.

Risks. None that we know of. The films show simple robots that may fall over.

It is up to you. You may stop at any time and for any reason, and withdraw with one click on every page; what you did \
is then not used any more, and deleted when you ask for it."""
THANKS = "That was the whole loop: you never wrote a reward, you only said what you like."
STUDIES: tuple[dict[str, Any], ...] = (
    {
        "title": "Teach an ant to run",
        "task": "Ant",
        "k": 6,
        "n": 3,
        "consent_text": CONSENT.format(duration="Three rounds. A round takes about three minutes, mostly waiting."),
    },
    {
        "title": "Balance a pole, in two minutes",
        "task": "Cartpole",
        "k": 6,
        "n": 2,
        "consent_text": CONSENT.format(duration="Two rounds of about half a minute."),
    },
)


class Command(BaseCommand):
    help = "Create the two demonstration studies that the home page offers; does nothing where they exist."

    def handle(self, *args: Any, **options: Any) -> None:
        for plan in STUDIES:
            if Study.objects.filter(title=plan["title"]).exists():  # also where staff took it off the home page
                self.stdout.write(f"Already there: {plan['title']}")
                continue
            study = Study.objects.create(
                title=plan["title"],
                consent_text=plan["consent_text"],
                demonstration=True,
                status=Study.Status.OPEN,
                contact="Prefine's administrator",
                thanks_text=THANKS,
            )
            arm = {name: plan[name] for name in ("task", "k", "n")}
            Arm.objects.create(
                study=study, **arm, model=find_environment_model(), training_start=TrainingStart.BEST_SHORT
            )
            self.stdout.write(f"Created: {plan['title']}")
