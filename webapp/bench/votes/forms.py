"""The forms of votes, new or saved, with their pairs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from django.http import QueryDict

from llm.methods import LOOKING_ON
from webapp.bench.form_fields import SectionedForm
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.problems import media
from webapp.votes import problem_pairs, proposals
from webapp.votes.models import Pair, Poll

OF_PAIRS = ("allow_tie", "ask_strength", "repeats", "checks_to_pass", "alpha", "correction")
"""Fields that say something of pairs, and nothing where one film or answer at a time is rated."""
FREE = ("contact", "thanks_text", "recruiting", "completion_code", "completion_url")
"""Fields that can change once the vote was opened."""
ANSWER_PREFIX = "answer-"
"""The prefix of an answer's key in the choices; a clip's key has none."""


def list_winners() -> list[tuple[str, Any]]:
    """The winners of finished experiments: final clips of robots and answers to problems."""
    clips = [(str(clip.pk), _describe_winner(clip.candidate)) for clip in list_winning_clips()]
    read = [(f"{ANSWER_PREFIX}{row.pk}", _describe_winner(row)) for row in problem_pairs.find_winners()]
    groups = [("Robots", clips), ("Answers to problems", read)]
    return [("", "---------"), *((name, found) for name, found in groups if found)]


def _describe_winner(candidate: Candidate) -> str:
    experiment = candidate.iteration.experiment
    return f"{experiment.name} ({experiment.get_method_display()}, {experiment.task}, seed {experiment.seed})"


def list_winning_clips() -> QuerySet[Clip]:
    final = Clip.objects.filter(percent=100, candidate__iteration__experiment__winner=F("candidate"))
    final = final.exclude(candidate__iteration__experiment__method__in=LOOKING_ON)
    return final.select_related("candidate__iteration__experiment").order_by("-candidate__iteration__experiment")


def _find_winner_choice(public_id: str) -> str:
    """The choice that stands for the winner of this experiment; empty if there is none."""
    try:
        row = Experiment.objects.get(public_id=public_id)
    except (Experiment.DoesNotExist, ValidationError):
        return ""
    if row.winner_id is None:
        return ""
    if clip := list_winning_clips().filter(candidate=row.winner_id).first():
        return str(clip.pk)
    answer = problem_pairs.find_winners().filter(pk=row.winner_id).first()
    return f"{ANSWER_PREFIX}{answer.pk}" if answer else ""


class PairForm(forms.ModelForm):
    first = forms.ChoiceField(
        choices=list_winners,
        help_text="What a finished experiment ended with: its winner's final clip, or its answer to a problem.",
    )
    second = forms.ChoiceField(choices=list_winners, help_text="Of the same task.")

    class Meta:
        model = Pair
        fields = ["first", "second", "first_arm", "second_arm", "purpose", "name"]
        help_texts = {
            "first_arm": "What it stands for in the results, for example ICPL. Empty: its method.",
            "second_arm": "Pairs that name the same arm are compared together.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first", "second"):
            answer, clip = getattr(self.instance, f"{name}_answer_id"), getattr(self.instance, f"{name}_id")
            if answer or clip:
                self.initial[name] = f"{ANSWER_PREFIX}{answer}" if answer else str(clip)

    def clean(self) -> dict[str, Any]:
        """Put each choice into the row's field for clips or for answers."""
        data: dict[str, Any] = super().clean() or {}
        for name in {"first", "second"} & set(data):
            is_read, number = data[name].startswith(ANSWER_PREFIX), data[name].removeprefix(ANSWER_PREFIX)
            clip = None if is_read else list_winning_clips().get(pk=number)
            answer = problem_pairs.find_winners().get(pk=number) if is_read else None
            data[name] = clip
            setattr(self.instance, f"{name}_answer", answer)
            candidate = answer or (clip.candidate if clip else None)
            if candidate and not data.get(f"{name}_arm"):
                data[f"{name}_arm"] = candidate.iteration.experiment.get_method_display()[:60]
        return data


PairFormSet = forms.inlineformset_factory(Poll, Pair, form=PairForm, extra=1, can_delete_extra=False)


class PollForm(SectionedForm, forms.ModelForm):
    """A new vote, a draft, or one that was opened: everybody must be asked the same, under the same plan."""

    section_names = {
        "": ("title", "contact", "evaluators_wanted", "question", "instructions", "most_points"),
        "More: analysis plan, consent, thanks, recruitment": (
            *("allow_tie", "ask_strength", "repeats", "checks_to_pass", "alpha", "correction", "hypothesis"),
            *("consent_text", "consent_version", "thanks_text", "recruiting", "completion_code", "completion_url"),
        ),
    }

    class Meta:
        model = Poll
        fields = [
            *["title", "contact", "question", "instructions", "allow_tie", "ask_strength", "repeats"],
            *["evaluators_wanted", "alpha", "correction", "checks_to_pass", "hypothesis", "most_points"],
            *["consent_text", "consent_version", "thanks_text"],
            *["recruiting", "completion_code", "completion_url"],
        ]
        widgets = {
            "instructions": forms.Textarea({"rows": 4}),
            "hypothesis": forms.Textarea({"rows": 3}),
            "thanks_text": forms.Textarea({"rows": 2}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        left_out = set() if self.instance.form == Poll.Form.GRADES else {"most_points"}
        left_out |= set(OF_PAIRS) if self.instance.is_single else set()
        if self.instance.status != Poll.Status.DRAFT:
            left_out |= self.fields.keys() - set(FREE)
            self.section_names = {"": FREE}
        for name in left_out:
            self.fields.pop(name, None)
        if "consent_text" in self.fields:
            self.fields["consent_text"].initial = self.initial.get("consent_text")


def propose_poll(asked: QueryDict) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The values of a new vote on films, or on answers (`kind`), and of its first pair, where `first` and `second`
    name experiments.
    """
    medium = media.answers.MEDIUM if asked.get("kind") == "answers" else media.films.MEDIUM
    pair = {name: _find_winner_choice(asked.get(name, "")) for name in ("first", "second")}
    return proposals.write_texts(medium), [pair] if any(pair.values()) else []
