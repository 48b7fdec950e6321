"""The forms of the wizard's steps: parts of the study's form, its arms, questions, codes and trials."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.formsets import DELETION_FIELD_NAME
from django.forms.models import inlineformset_factory

from webapp.bench.option_fields import OptionsField, describe_method_options
from webapp.bench.studies.forms import ASSIGNMENT_FIELDS, ArmForm, ArmFormSet, StudyForm
from webapp.review.models import TrialPlan
from webapp.studies.models import Arm, CompletionCode, Outcome, Question, Study
from webapp.studies.starts import METHODS_FOR_PEOPLE

PROLIFIC = {"parameter_person": "PROLIFIC_PID", "parameter_study": "STUDY_ID", "parameter_session": "SESSION_ID"}
NEEDED = ("title", "contact", "consent_text", "ethics_protocol", "ethics_expires_on")
"""Fields without which a study does not open. A draft is saved without most of them."""
DAY, MOMENT = "%Y-%m-%d", "%Y-%m-%dT%H:%M"


class StepForm(StudyForm):
    """Some of a study's fields. A draft may be saved without those that it needs to open."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"contact", "consent_text"} & self.fields.keys():
            self.fields[name].required = self.instance.status == Study.Status.OPEN
        for name in set(ASSIGNMENT_FIELDS) & self.fields.keys() if self.instance.has_begun else ():
            self.fields[name].disabled = True

    def save_fields(self) -> None:
        """Save the form's own fields alone: others may have changed since the page was made."""
        self.instance.save(update_fields=list(self._meta.fields or ()))


class NotesForm(StepForm):
    class Meta(StudyForm.Meta):
        fields = ["description"]


class PeopleForm(StepForm):
    site = forms.ChoiceField(
        label="How people come",
        widget=forms.RadioSelect,
        choices=[
            ("", "Personal links: you add people, and send each their own link"),
            ("prolific", "Prolific: one open link, with Prolific's ids"),
            ("other", "An open link for everybody: a poster, a mail, another recruitment site"),
        ],
        required=False,
    )

    class Meta(StudyForm.Meta):
        fields = [
            *["recruiting", "quota", "experiments_each", "interleaved", "assignment", "notify_email", "notify_push"],
            *["parameter_person", "parameter_study", "parameter_session", "parameter_required", "seed"],
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["recruiting"]
        self.initial["site"] = self._find_site()
        for name in PROLIFIC:  # Prolific's are known
            self.fields[name].required = False

    def _find_site(self) -> str:
        study = self.instance
        if not study.recruiting:
            return ""
        named = all(getattr(study, name) == value for name, value in PROLIFIC.items())
        return "prolific" if named and study.parameter_required else "other"

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        site = data.get("site", "")
        self.instance.recruiting = bool(site)
        if site == "prolific":
            data.update(PROLIFIC, parameter_required=True)
        for name, usual in PROLIFIC.items():
            data[name] = data.get(name) or usual
        if site and data.get("assignment") == Study.Assigning.BY_HAND:
            self.add_error("assignment", "People who come by the open link have no place that you could choose before.")
        return data


class TextsForm(StepForm):
    class Meta(StudyForm.Meta):
        fields = [
            *["title", "contact", "consent_text", "consent_version", "instructions", "practice", "most_attempts"],
            *["reasons_best", "reasons_worst", "debriefing", "thanks_text"],
        ]
        widgets = {name: forms.Textarea({"rows": 4}) for name in ("reasons_best", "reasons_worst")}


class SpokenForm(StepForm):
    other_languages = forms.MultipleChoiceField(
        choices=settings.LANGUAGES, required=False, widget=forms.CheckboxSelectMultiple, label="Also offer"
    )

    class Meta(StudyForm.Meta):
        fields = ["language", "other_languages"]
        labels = {"language": "Your texts are written in"}

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        data["other_languages"] = [code for code in data.get("other_languages", []) if code != data.get("language")]
        return data


class EndForm(StepForm):
    class Meta(StudyForm.Meta):
        fields = ["ethics_protocol", "ethics_expires_on", "opens_at", "closes_at", "retention_days"]
        widgets = {
            "ethics_expires_on": forms.DateInput({"type": "date"}, DAY),
            "opens_at": forms.DateTimeInput({"type": "datetime-local"}, MOMENT),
            "closes_at": forms.DateTimeInput({"type": "datetime-local"}, MOMENT),
        }

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        opens, closes = data.get("opens_at"), data.get("closes_at")
        if opens and closes and closes <= opens:
            self.add_error("closes_at", "It would close before it opens.")
        return data


class WizardArmForm(ArmForm):
    options = OptionsField(label="Method's options", help_text=describe_method_options(METHODS_FOR_PEOPLE))

    class Meta(ArmForm.Meta):
        fields = [name for name in ArmForm.Meta.fields if name != "position"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["options"].widget = forms.Textarea({"rows": 3})


class WizardArms(ArmFormSet):
    def clean(self) -> None:
        """Refuse to remove an arm that somebody is in."""
        super().clean()
        for form in self.forms:
            arm = form.instance
            if arm.pk and form.cleaned_data.get(DELETION_FIELD_NAME) and arm.assignments.exists():
                pilots = not arm.assignments.filter(participant__pilot=False).exists()
                who = "Pilots are in it: delete the pilot data first" if pilots else "People are in it"
                raise ValidationError(f"Arm {arm.name} cannot be removed. {who}.")


Arms = inlineformset_factory(
    Study, Arm, form=WizardArmForm, formset=WizardArms, extra=0, min_num=1, validate_min=True, can_delete=True
)
Questions = inlineformset_factory(
    Study, Question, fields=["text", "answers", "correct", "explanation", "asked_of"], extra=0,
    can_delete=True,
    widgets={"answers": forms.Textarea({"rows": 3})},
)  # fmt: skip
Codes = inlineformset_factory(
    Study, CompletionCode, fields=["outcome", "code", "url"], extra=0, can_delete=True, max_num=len(Outcome.choices)
)


class TrialsForm(forms.ModelForm):
    class Meta:
        model = TrialPlan
        fields = ["attention", "repeated", "gold", "gold_pairs"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.required = False
            field.disabled = self.instance.study.has_begun

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        for name in self.fields:
            if data.get(name) is None and name not in self.errors:
                data[name] = 0
        if data.get("gold") and not self.instance.study.gold_sets.exists():
            self.add_error("gold", "Choose gold sets first: there are none yet.")
        if data.get("gold_pairs") and not self.instance.study.gold_pairs.exists():
            self.add_error("gold_pairs", "Choose gold pairs first: there are none yet.")
        return data
