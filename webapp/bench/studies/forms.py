"""The forms with which an experimenter sets up a study."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from string import ascii_uppercase
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.formsets import DELETION_FIELD_NAME

from webapp.bench.form_fields import set_choices
from webapp.bench.loop_form import LoopForm
from webapp.bench.option_fields import OptionsField, describe_method_options, describe_methods
from webapp.experiments.defaults import find_environment_model
from webapp.studies import consent, preflight
from webapp.studies.models import Arm, Assignment, Study
from webapp.studies.starts import METHODS_FOR_PEOPLE

MOST_AT_ONCE = 200
FIXED_ARM_FIELDS = (
    "task",
    "method",
    "k",
    "n",
    "preset",
    "training_start",
    "shared_experience",
    "panel",
    "overlap",
    "model",
    "options",
    "describer",
    "vision",
    "prompt_set",
)
"""Fields that cannot change once a participant is in the arm: people of one arm must do the same."""
ROWS = {"description": 2, "consent_text": 12, "instructions": 3, "debriefing": 4, "thanks_text": 2}
"""The height of text fields, in lines."""
ASSIGNMENT_FIELDS = ("experiments_each", "interleaved", "assignment", "seed")
"""Fields that cannot change once a participant has consented."""


class LinesField(forms.CharField):
    """Browsers send line ends as CR LF; the text is the same."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class StudyForm(forms.ModelForm):
    class Meta:
        model = Study
        field_classes = {"consent_text": LinesField}
        fields = [
            *["title", "contact", "description", "consent_text", "consent_version", "instructions", "practice"],
            *[
                "most_attempts",
                "reasons_best",
                "reasons_worst",
                "debriefing",
                "thanks_text",
                "ethics_protocol",
                "ethics_expires_on",
                "retention_days",
            ],
            *["opens_at", "closes_at", "quota", "recruiting", "demonstration"],
            *["parameter_person", "parameter_study", "parameter_session", "parameter_required"],
            *["experiments_each", "interleaved", "assignment", "seed", "notify_email", "notify_push"],
        ]
        labels = {
            "ethics_expires_on": "Valid until",
            "retention_days": "Days to keep the data",
            "opens_at": "Opens at (UTC)",
            "closes_at": "Closes at (UTC)",
            "quota": "Participants, at most",
            "experiments_each": "Experiments of each participant",
            "assignment": "How people get an arm",
            "most_attempts": "Tries of the comprehension check",
            "parameter_person": "Who it is",
            "parameter_study": "Which study",
            "parameter_session": "Which session",
            "notify_email": "Offer an e-mail",
            "notify_push": "Offer a notice of their browser",
        }
        help_texts = {
            "title": "Participants see it: say what they do, not what you expect to find.",
            "contact": "An e-mail address, telephone number or page where somebody answers. It is on every page.",
            "description": "For you and your colleagues: the question, the plan, notes. No participant reads it.",
            "consent_text": "Plain text; an empty line begins a paragraph.",
            "consent_version": "A changed text that somebody may have read gets the next version by itself. "
            "Consents given before stay with the text that they were given to. A text of your own says: purpose, what "
            "people do and for how long, risks, data and how long it is kept, that it is voluntary, how to leave.",
            "instructions": "What is special about your study, if anything.",
            "practice": "Recommended: one round with samples, which does not count.",
            "most_attempts": "Two are usual: everybody may misread once.",
            "reasons_best": "Buttons below a round, one a line. Empty: those of the task.",
            "reasons_worst": "The same for the worst.",
            "debriefing": "What it was about, read after the last choice. Ethics boards often ask for it.",
            "thanks_text": "With the completion code. Empty: a plain thank you.",
            "ethics_protocol": "Its number and the board.",
            "ethics_expires_on": "The last day on which new people may consent; those inside go on.",
            "retention_days": "Counted from closing, or from the last choice after it (those inside have a month at "
            "least). Empty: until somebody deletes it.",
            "opens_at": "Before it, links say when to come back. Empty: at once.",
            "closes_at": "Nobody new may consent then; those inside finish. Empty: when you close it.",
            "quota": "A person who leaves or fails the check makes room for another. Empty: no limit.",
            "recruiting": "Anybody who follows the study's open link may take part: from a recruitment site, a poster "
            "or a mail. Off: personal links alone.",
            "demonstration": "Anybody may start it from the home page; it needs no ethics protocol. Not for research.",
            "parameter_person": "The parameter of the open link that holds the recruitment site's id of the person. "
            "Prolific's name is filled in.",
            "parameter_required": "The open link admits only people sent by a recruitment site. Off: without an id a "
            "browser is a person.",
            "experiments_each": "1: people are compared between arms. As many as there are arms: everybody meets "
            "every arm, in balanced orders.",
            "assignment": "Ties and seeded arms are drawn from the study's seed. By hand is for personal links: you "
            "choose when you add participants.",
            "seed": "The n-th experiment of the study takes the n-th seed from here on, so that repetitions differ. "
            "Another number repeats the study with other random draws.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ROWS.keys() & self.fields.keys():
            self.fields[name].widget.attrs["rows"] = ROWS[name]
        days, field = self.instance.retention_days, self.fields.get("retention_days")
        if field and days and days % 365 == 0:
            field.help_text = f"{days} days: kept {consent.describe_retention(days)}. {field.help_text}"

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        version, text = data.get("consent_version"), data.get("consent_text")
        if self.instance.pk is None or not version or text is None:
            return data
        other = consent.is_other_text(self.instance, version, text)
        if other and version != self.instance.consent_version:
            self.add_error("consent_version", f"Version {version} is another text, which people have read.")
        elif other:
            data["consent_version"] = consent.raise_version(version)
        return data


class ArmForm(LoopForm):
    options = OptionsField(label="Method's options", help_text=describe_method_options(METHODS_FOR_PEOPLE))

    class Meta(LoopForm.Meta):
        model = Arm
        fields = [
            *["name", "position", "quota", "task", "method", "k", "n"],
            *["preset", "training_start", "shared_experience", "panel", "overlap", "model"],
            *["options", "prompt_set", "describer", "vision", "token_budget", "dollar_budget"],
        ]
        labels = {"quota": "Participants, at most", "panel": "People per experiment", "overlap": "Answers per pair"}
        help_texts = LoopForm.Meta.help_texts | {
            "name": "Short, for lists, figures and the export. Empty: the next free letter.",
            "position": "Arms are listed by it, the lowest first.",
            "quota": "Empty: no limit but the study's.",
            "method": describe_methods(METHODS_FOR_PEOPLE),
            "panel": "1: everybody has an experiment of their own. More: this many judge the same robots, a round "
            "waits for all of them, and their choices are pooled into one.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = self.fields["overlap"].required = False
        set_choices(self, "method", [(method.name, method.title) for method in METHODS_FOR_PEOPLE])
        if self.instance.pk is None:
            self.fields["model"].initial = find_environment_model()
        elif self.instance.started:
            self.fields[
                "task"
            ].help_text = "Somebody is in this arm, so its plan is fixed. Add another arm for another plan."
            for name in FIXED_ARM_FIELDS:
                self.fields[name].disabled = True

    def clean_overlap(self) -> int:
        """As it is, where none is given."""
        return int(self.cleaned_data["overlap"] or self.instance.overlap)

    def has_changed(self) -> bool:
        """An arm with the proposed values counts as an arm, too."""
        return self.instance.pk is None or bool(super().has_changed())

    def validate_constraints(self) -> None:
        """The formset compares the names."""


class ArmFormSet(forms.BaseInlineFormSet):
    def validate_unique(self) -> None:
        """Name the arms without a name, and refuse a name that another arm has."""
        deleted = [form for form in self.forms if form.cleaned_data.get(DELETION_FIELD_NAME)]
        arms = [form for form in self.forms if form not in deleted and "name" in form.cleaned_data]
        saved: dict[int, str] = {}
        if self.instance.pk is not None:
            kept = self.instance.arms.exclude(pk__in=[form.instance.pk for form in deleted])
            saved = dict(kept.values_list("pk", "name"))
        taken = {form.cleaned_data["name"] for form in arms} | set(saved.values())
        free = (name for name in generate_letters() if name not in taken)
        before: set[str] = set()
        for form in arms:
            name = form.cleaned_data["name"] or next(free)
            if name in before or any(name == other for pk, other in saved.items() if pk != form.instance.pk):
                form.add_error("name", f"Another arm of this study is called “{name}”: give this one another name.")
            else:
                form.cleaned_data["name"] = form.instance.name = name
            before.add(name)


def generate_letters() -> Iterator[str]:
    """A to Z, then AA, AB and so on."""
    for length in count(1):
        yield from ("".join(letters) for letters in product(ascii_uppercase, repeat=length))


class InviteForm(forms.Form):
    """How many participants to add, and their arms in order where staff assign by hand."""

    count = forms.IntegerField(
        min_value=1,
        max_value=MOST_AT_ONCE,
        error_messages={
            "required": "Say how many participants to add.",
            "invalid": "The number of participants must be a whole number.",
            "min_value": "Add at least one participant.",
            "max_value": f"Add at most {MOST_AT_ONCE} participants at a time.",
        },
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.places = study.experiments_each if study.assignment == Study.Assigning.BY_HAND else 0
        for place in range(1, self.places + 1):
            words = {"required": "Choose an arm for every place.", "invalid_choice": "That is no arm of this study."}
            self.fields[f"arm_{place}"] = forms.ModelChoiceField(study.arms.all(), error_messages=words)

    @property
    def arms(self) -> list[Arm]:
        return [self.cleaned_data[f"arm_{place}"] for place in range(1, self.places + 1)]


class AssignmentForm(forms.ModelForm):
    class Meta:
        model = Assignment
        fields = ["position", "arm"]

    def clean_arm(self) -> Arm:
        arm: Arm = self.cleaned_data["arm"]
        if self.instance.participant_id and arm.study_id != self.instance.participant.study_id:
            raise ValidationError("That is an arm of another study.")
        return arm


class StatusForm(forms.Form):
    status = forms.ChoiceField(choices=[(Study.Status.OPEN, "open"), (Study.Status.CLOSED, "closed")])
    confirmed = forms.MultipleChoiceField(choices=[(name, name) for name in preflight.MUST_CONFIRM], required=False)
    """Names of the cautions that were confirmed."""
