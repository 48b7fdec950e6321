"""The admin's labels are plain English: abbreviations as the glossary writes them, and no names of columns."""

import json
import re
from types import SimpleNamespace

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.contrib.auth.models import User

from webapp.accounts.roles import Role
from webapp.bench import admin as forms  # noqa: F401 (each registers its models)
from webapp.studies.models import Arm, Questionnaire

ABBREVIATIONS = ("API", "FTS", "JSON", "NaN", "RTS", "SHA-256", "TS", "URL", "US", "UTC", "UUID")
MACHINE_WORDS = {"cancel", "iteration", "payload", "ptr", "rings", "rung", "sha256", "strikes", "uid", "url", "uuid"}
"""Names of columns and code that people meet nowhere else."""


def list_labels(page):
    """What the lists, forms and rows within forms of one model call its fields."""
    for name in (*page.list_display, *page.readonly_fields):
        if name not in ("__str__", "action_checkbox"):
            yield str(label_for_field(name, page.model, page))
    for field in page.model._meta.fields:
        yield str(field.verbose_name)
    for shown in (page, *(inline(page.model, page.admin_site) for inline in page.inlines)):
        yield str(shown.opts.verbose_name)
        yield from (str(field.label) for field in shown.form.base_fields.values() if field.label)


def is_plain(label):
    words = re.findall(r"[\w-]+", label)
    wrong_case = [w for w in words for a in ABBREVIATIONS if w.lower() == a.lower() and w != a and w != "us"]
    return not wrong_case and "_" not in label and not {word.lower() for word in words} & MACHINE_WORDS


def test_labels_are_no_machine_words():
    pages = admin.site._registry.values()
    assert {
        (page.model.__name__, label) for page in pages for label in list_labels(page) if not is_plain(label)
    } == set()


def test_choices_fit_into_the_box_of_a_phone():
    """About 38 letters; the words of a vote's plan are longer, and end with dots there."""
    fields = [field for page in admin.site._registry.values() for field in page.model._meta.fields if field.editable]
    fields += [Arm._meta.get_field("preset"), Questionnaire._meta.get_field("placement")]
    titles = {str(title) for field in fields for _, title in field.choices or ()} | {*Role.labels}
    assert len(titles) > 30 and [title for title in titles if len(title) > 38] == []


def test_a_button_for_another_row_names_it_as_in_a_sentence(rf):
    request = rf.get("/")
    request.user = User(is_superuser=True, is_active=True)
    for page in admin.site._registry.values():
        inlines = [inline(page.model, page.admin_site) for inline in page.inlines]
        sets = [SimpleNamespace(prefix="rows", empty_form=None, management_form=None) for _ in inlines]
        for inline, rows in zip(inlines, page.get_inline_formsets(request, sets, inlines), strict=True):
            text = json.loads(rows.inline_formset_data())["options"]["addText"]
            assert text == f"Add another {inline.opts.verbose_name}"
