"""An import whose prompts were left out says so; films that a vote is copying are no orphans."""

import os
import time

import pytest
from django.urls import reverse

from tests.webapp.test_roles import account, signed_in
from webapp.accounts import roles
from webapp.archive import importer, orphan_files
from webapp.archive.models import Import
from webapp.experiments.models import PromptSet

pytestmark = pytest.mark.django_db
LEFT_OUT = "1 set of prompts in the file was left out, because only administrators may bring prompts."


@pytest.mark.slow
def test_an_import_says_how_many_sets_of_prompts_were_left_out(saved_export, staff):
    study = importer.restore(saved_export.path, "eve", leave_out=[importer.PROMPT_SETS])
    assert study.origin.prompts_left_out == 1 and not PromptSet.objects.exists()
    Import.objects.create(name="study.zip", by="eve", study=study, status="done")
    for page in (reverse("archive:index"), reverse("archive:study", args=[study.pk])):
        assert LEFT_OUT in staff.get(page).text


@pytest.mark.slow
def test_an_import_with_its_prompts_says_nothing_of_them(saved_export, staff):
    study = importer.restore(saved_export.path, "ada")
    assert study.origin.prompts_left_out == 0 and PromptSet.objects.exists()
    assert "prompts in the file" not in staff.get(reverse("archive:study", args=[study.pk])).text


def test_who_may_not_bring_prompts_reads_it_before_the_import():
    words = "Sets of prompts in the file are left out"
    experimenter = signed_in(account(role=roles.Role.EXPERIMENTER)).get(reverse("archive:index")).text
    assert words in experimenter and 'type="file"' in experimenter
    administrator = signed_in(account("root", roles.Role.ADMINISTRATOR)).get(reverse("archive:index")).text
    assert words not in administrator and 'type="file"' in administrator


def test_copies_of_films_are_kept_for_a_day_until_their_vote_opens(settings):
    media = settings.DATA_DIR / "media"
    for folder in ("votes", "clips"):
        file = media / folder / "00000000-0000-4000-8000-000000000000.mp4"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("copied two hours ago")
        os.utime(file, (time.time() - 7200,) * 2)
    assert orphan_files.delete_orphans() == ["clips/00000000-0000-4000-8000-000000000000.mp4"]
    os.utime(media / "votes" / file.name, (0, 0))
    assert orphan_files.delete_orphans() == [f"votes/{file.name}"]
