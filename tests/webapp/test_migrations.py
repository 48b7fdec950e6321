"""A site that was set up before studies had arms keeps its studies, its people, and what they agreed to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BEFORE = [("studies", "0004_budgets"), ("experiments", "0004_budgets"), ("review", "0001_initial")]
SCRIPT = f"""
import hashlib, json
import django; django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

executor = MigrationExecutor(connection)
executor.migrate({BEFORE})
old = executor.loader.project_state({BEFORE}).apps.get_model
Study, Participant = old("studies", "Study"), old("studies", "Participant")
Experiment = old("experiments", "Experiment")
model = old("experiments", "LanguageModel").objects.create(name="M")
plan = dict(task="Cartpole", method="icpl", k=4, n=3, model=model, options={{"reasons": False}}, dollar_budget=2.5)
text = dict(consent_text="You may stop.", consent_version="7", contact="c")
first = Study.objects.create(title="first", seed=40, **text, **plan)
second = Study.objects.create(title="second", **text)
digest = hashlib.sha256(b"7\\nYou may stop.").hexdigest()
people = (("P01", digest, "finished_at"), ("P02", "of a text before", "withdrawn_at"), ("P03", "", ""))
for label, hashed, ended in people:
    values = {{ended: timezone.now()}} if ended else {{}}
    person = Participant.objects.create(study=first, label=label, token=label, consent_hash=hashed, **values)
    if hashed:
        Experiment.objects.create(name=label, participant=person, **plan)
Experiment.objects.create(name="of nobody")

executor = MigrationExecutor(connection)
executor.migrate(executor.loader.graph.leaf_nodes())
from webapp.experiments.models import Experiment
from webapp.studies.models import Arm, Assignment, ConsentText, Participant, Study
places = Assignment.objects.order_by("participant__label")
places = places.values_list("participant__label", "experiment__name", "position")
fields = ("study__title", "task", "method", "judge", "k", "n", "model__name", "options", "dollar_budget", "panel")
print(json.dumps({{
    "arms": list(map(list, Arm.objects.order_by("study__title").values_list(*fields))),
    "places": list(map(list, places)),
    "texts": list(map(list, ConsentText.objects.values_list("study__title", "version", "text"))),
    "hash": ConsentText.objects.get().hash == Study.objects.get(title="first").consent_hash == digest,
    "outcomes": dict(Participant.objects.values_list("label", "outcome")),
    "links": Study.objects.values("open_link").distinct().count(),
    "experiments": Experiment.objects.count(),
}}))
"""


def test_a_study_of_one_plan_becomes_a_study_of_one_arm(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFINE_")}
    env |= {"PREFINE_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "webapp.settings", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["arms"] == [
        ["first", "Cartpole", "icpl", "human", 4, 3, "M", {"reasons": False}, 2.5, 1],
        ["second", "Ant", "icpl", "human", 6, 5, None, {}, None, 1],
    ]
    assert found["places"] == [["P01", "P01", 1], ["P02", "P02", 1]]
    assert found["texts"] == [["first", "7", "You may stop."]] and found["hash"]
    assert found["outcomes"] == {"P01": "finished", "P02": "withdrawn", "P03": ""}
    assert found["links"] == 2 and found["experiments"] == 3
