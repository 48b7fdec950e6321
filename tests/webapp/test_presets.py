"""Which training settings an experiment may have: the catalog's, where the task has them."""

import pytest
from django.core.exceptions import ValidationError

from simulation import catalog
from tests.webapp import fake_workers
from webapp.experiments.models import preset_choices


def test_every_preset_of_every_task_has_a_title_and_no_other_is_offered():
    used = {name for info in catalog.list_tasks().values() for name in info.presets}
    assert {name for name, _ in preset_choices()} == used


@pytest.mark.django_db
@pytest.mark.parametrize("preset", ["quick-sac", "paper-sac"])
def test_an_experiment_may_train_with_sac(preset):
    made = fake_workers.create_experiment(task="Cartpole", preset=preset)
    made.full_clean()
    made.preset = "quick-dqn"
    with pytest.raises(ValidationError, match="not a valid choice"):
        made.full_clean()
