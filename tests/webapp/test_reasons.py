"""The buttons that say why a film was chosen."""

import re

import pytest
from django.core.exceptions import ValidationError

from simulation import catalog
from tests.webapp import rows
from webapp.review import ballot
from webapp.review.screenings import find_screening
from webapp.studies.models import Participant, Study

pytestmark = pytest.mark.django_db


class TestReasons:
    """The study's own, else the task's."""

    def offered(self, client, person):
        html = client.get(person.get_absolute_url()).content.decode()
        return set(re.findall(r'name="tags" value="([^"]+)"', html))

    @pytest.mark.slow
    def test_the_tasks_words_by_default_and_the_studys_own(self, client):
        person = rows.participant(rows.study(task="Cartpole", k=3, other_languages=["de"]))
        rows.create_round(person)
        request = rows.open_judgement(person)
        assert "best: the pole stays upright" in self.offered(client, person)
        german = client.get(person.get_absolute_url(), headers={"accept-language": "de"}).content.decode()
        assert 'value="best: the pole stays upright"><span>die Stange bleibt aufrecht</span>' in german
        Study.objects.update(reasons_best="It is brave\n\n It is kind ", reasons_worst="")
        person = Participant.objects.get(pk=person.pk)
        shown = self.offered(client, person)
        assert {"best: It is brave", "best: It is kind"} == {tag for tag in shown if tag.startswith("best")}
        assert "worst: the pole falls" in shown
        german = client.get(person.get_absolute_url(), headers={"accept-language": "de"}).content.decode()
        assert '<span lang="en">It is brave</span>' in german and "<span>die Stange fällt</span>" in german
        choice = ballot.Choice("A", "B", tags=("best: It is kind", "worst: the pole falls", "best: never offered"))
        vote = ballot.cast_vote(person, find_screening(request, person).token, choice).vote
        Study.objects.update(reasons_best="Other words")
        vote.refresh_from_db()
        assert vote.tags == ["best: It is kind", "worst: the pole falls"]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [("a\na", "twice"), ("x" * 61, "at most 60"), ("\n".join(map(str, range(13))), "at most 12")],
    )
    def test_too_many_or_too_long(self, text, problem):
        with pytest.raises(ValidationError, match=problem):
            Study(reasons_best=text).clean_fields(
                exclude=[f.name for f in Study._meta.fields if f.name != "reasons_best"]
            )

    def test_every_task_names_what_its_robot_does(self):
        for info in catalog.list_tasks().values():
            for words in (info.reasons_best, info.reasons_worst):
                assert 3 <= len(words) <= 6 and max(map(len, words)) <= 40, info.name
