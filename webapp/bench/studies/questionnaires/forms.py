"""Forms of the builder of questionnaires."""

from __future__ import annotations

from typing import Any

from django import forms

from webapp.bench.form_fields import set_choices
from webapp.studies.models.questionnaires import Item, Questionnaire
from webapp.studies.questionnaires import editing
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.scores import SCORES

LINES = {"options": 6, "statements": 6, "text": 3, "intro": 3}


class QuestionnaireForm(forms.ModelForm):
    arms = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Only for these arms",
        help_text="None ticked: everybody is asked.",
    )

    class Meta:
        model = Questionnaire
        fields = ["title", "intro", "placement", "every", "rounds", "arms", "shuffle", "score"]
        widgets = {"intro": forms.Textarea(attrs={"rows": LINES["intro"]})}
        labels = {"every": "Between rounds: after every n-th", "rounds": "Between rounds: or after these"}
        help_texts = {"rounds": "For example 1, 3. Empty: after every n-th, as given above."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study = self.instance.study
        arms = [(str(arm.pk), arm.name) for arm in study.arms.all()]
        set_choices(self, "arms", arms)
        if not self.is_bound:
            self.initial["arms"] = [str(pk) for pk in self.instance.arms]
        if len(arms) < 2 and not self.instance.arms:
            del self.fields["arms"]
        self.fields["every"].required = False

    def clean_arms(self) -> list[int]:
        return [int(pk) for pk in self.cleaned_data["arms"]]

    def clean_every(self) -> int:
        return self.cleaned_data["every"] or 1

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        score = data.get("score", "")
        if score in SCORES and (fault := SCORES[score].find_fault(list(self.instance.items.all()))):
            self.add_error("score", fault)
        return data


class ItemForm(forms.ModelForm):
    """The settings of one item: those that its kind uses, and what it depends on."""

    condition = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Shown only after one of these answers",
        help_text="None ticked: always shown. The answers must be of one question.",
    )

    class Meta:
        model = Item
        fields = [
            *["text", "hint", "variable", "required", "options", "other_label", "statements", "reversed_rows"],
            *["steps", "low_label", "high_label", "lowest", "highest", "unit"],
        ]
        widgets = {name: forms.Textarea(attrs={"rows": LINES[name]}) for name in ("text", "options", "statements")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kind = KINDS[self.instance.kind]
        kept = {"text", "hint", "variable", "condition", *kind.settings, *(["required"] if kind.asks else [])}
        for name in set(self.fields) - kept:
            del self.fields[name]
        self.fields["variable"].required = False
        if not kind.asks:
            self.fields["text"].label = "Text"
            self.fields["variable"].widget = forms.HiddenInput()
        self.sources = editing.list_earlier_items(self.instance)
        set_choices(self, "condition", [(source.text, _list_answers(source)) for source in self.sources])
        if self.instance.shown_when_id and not self.is_bound:
            codes = self.instance.shown_codes
            self.initial["condition"] = [f"{self.instance.shown_when_id}:{code}" for code in codes]
        if not self.sources:
            del self.fields["condition"]

    def clean_variable(self) -> str:
        """The name that was given, or one from the question's first words; unique in the study."""
        items = Item.objects.filter(questionnaire__study=self.instance.questionnaire.study_id)
        taken = set(items.exclude(pk=self.instance.pk).values_list("variable", flat=True))
        given: str = self.cleaned_data["variable"].strip()
        if given in taken:
            raise forms.ValidationError("Another question of this study has this name.")
        return given or editing.suggest_variable(self.cleaned_data.get("text", ""), taken)

    def clean_condition(self) -> list[tuple[int, int]]:
        parts = [value.partition(":") for value in self.cleaned_data["condition"]]
        pairs = [(int(source), int(code)) for source, _, code in parts]
        if len({source for source, _ in pairs}) > 1:
            raise forms.ValidationError("Tick answers of one question only.")
        return pairs

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if "condition" in self.fields and "condition" in data:
            pairs = data["condition"]
            self.instance.shown_when_id = pairs[0][0] if pairs else None
            self.instance.shown_codes = [code for _, code in pairs]
        for name in self.fields:
            if name in data and name != "condition":
                setattr(self.instance, name, data[name])
        if not self.errors:
            for name, words in KINDS[self.instance.kind].find_faults(self.instance).items():
                self.add_error(name, words)
        return data


def _list_answers(source: Item) -> list[tuple[str, str]]:
    return [(f"{source.pk}:{code}", words) for code, words in KINDS[source.kind].list_codes(source)]
