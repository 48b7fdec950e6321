"""Staff's pages under /bench/ through axe-core, light on a desktop and dark on a phone."""

import pytest

from tests.webapp.in_browser.test_accessibility import AXE, LOOKS, RUN, watch_policy
from tests.webapp.sites import PATIENCE
from webapp.bench.urls import urlpatterns

pytestmark = pytest.mark.slow

PAGES = """
from django.conf import settings
from django.test import Client, override_settings
from django.urls import reverse
from tests.webapp import arms_study, bench_rows, finished_study, poll_rows, questionnaire_rows
from webapp.archive.models import Export
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment, LanguageModel
from webapp.review.models import GoldPair
from webapp.studies.models import Question, Study
ada, client = bench_rows.create_staff(), Client()
client.force_login(ada)
out["cookie"] = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
with override_settings(UNDO_SECONDS=0):
    cast = finished_study.create_finished_study()
done, training = bench_rows.create_finished_experiment(failed=(1,)), bench_rows.create_training_experiment()
failed, learned = bench_rows.create_finished_experiment(n=1), bench_rows.create_learned_experiment()
Experiment.objects.filter(pk=failed.pk).update(status="failed")
empty, open_poll = Study.objects.create(title="Empty", consent_text="c", contact="me"), poll_rows.poll(pairs=2)
comparison = Comparison.objects.create(
    name="C", tasks=["Cartpole"], methods=["icpl:k=3", "open_loop:k=3"], candidates=6, experiments=2
)
model = LanguageModel.objects.first()
candidate = done.iterations.first().candidates.first()
compared = arms_study.create_study({"A": [1.0, 2.0, 3.0], "B": [2.0, 3.0, 4.0]})
bench_rows.create_workers(training)
shown = rows.study(practice=True, method="revolve_human")
Question.objects.create(study=shown, text="May you leave?", answers="Yes\\nNo", correct=1, explanation="At any time.")
asks = rows.participant(rows.study(practice=True, task="Cartpole", method="prefppo", k=1, n=1), label="P88")
pair = rows.open_pairs(asks, pairs=2).pairs.first()
GoldPair.objects.create(study=asks.study, better=pair.first, worse=pair.second)
STATES = ("practised", "check-again", "in-line", "stopped", "full", "early")  # the others: test_accessibility.py
own = questionnaire_rows.every_kind(shown)
asked, item = questionnaire_rows.every_kind(empty), questionnaire_rows.Item.objects.last()
for _ in range(2):  # two figures of the same title
    questionnaire_rows.answer_rating(questionnaire_rows.rated(compared), compared.participants.first(), 2)
pages = {
    "bench:index": [[]],
    "bench:studies": [[]],
    "bench:study": [[cast.study.pk], [empty.pk], [compared.pk]],
    "bench:study_new": [[]],
    "bench:experiment_new": [[]],
    "bench:experiment_edit": [[done.public_id]],
    "bench:model_new": [[]],
    "bench:model_edit": [[model.pk]],
    "votes:new": [[]],
    "votes:setup": [[open_poll.public_id], [poll_rows.poll(1, opened=False).public_id]],
    "bench:study_step": [[empty.pk, name] for name in ("compare", "people", "texts", "end", "check")],
    "bench:study_texts": [[empty.pk, "de"]],
    "votes:poll_languages": [[open_poll.public_id]],
    "votes:poll_texts": [[open_poll.public_id, "de"]],
    "bench:study_prolific": [[cast.study.pk]],
    "bench:study_gold": [[empty.pk]],
    "bench:study_gold_pairs": [[asks.study.pk]],
    "bench:questionnaires": [[empty.pk]],
    "bench:questionnaire": [[empty.pk, asked.pk]],
    "bench:questionnaire_item": [[empty.pk, asked.pk, item.pk]],
    "bench:questionnaire_results": [[empty.pk], [compared.pk]],
    "bench:selected": [[]],
    "bench:time_left": [[]],
    "bench:workers": [[]],
    "bench:tasks": [[]],
    "bench:task": [["Cartpole"]],
    "bench:experiment": [[row.public_id] for row in (done, training, failed, learned)],
    "bench:candidate": [[done.public_id, candidate.key], [learned.public_id, "1-1"]],
    "bench:asked_pairs": [[asks.experiment.public_id, 1]],
    "bench:lineage": [[done.public_id]],
    "account:account": [[]],
    "audit:index": [[]],
    "archive:index": [[]],
    "archive:single": [[Export.objects.create(experiments=[done.pk], title="One").public_id]],
    "archive:study": [[cast.study.pk]],
    "archive:prompts": [[]],
    "comparisons:index": [[]],
    "comparisons:new": [[]],
    "comparisons:comparison": [[comparison.public_id]],
    "votes:grading": [[]],
    "comparisons:alignment": [[comparison.public_id]],
    "votes:index": [[]],
    "votes:poll": [[open_poll.public_id], [cast.poll.public_id]],
    "votes:pairs": [[poll_rows.poll(0, opened=False).public_id]],
    "vote_preview": [[open_poll.public_id, "pair-1"]],
    "preview": [[empty.pk, "consent"]],
    "preview_page": [
        *[[shown.pk, name] for name in (*STATES, f"questionnaire-{own.pk}")],
        *[[asks.study.pk, name] for name in ("pairs", "practice")],
    ],
}
queries = {"bench:selected": f"?run={done.public_id}&run={training.public_id}"}
out["pages"] = {
    f"{name} {number}": reverse(name, args=args) + queries.get(name, "")
    for name, all_args in pages.items()
    for number, args in enumerate(all_args)
}
"""
NO_PAGES = {
    "account:new_codes",
    "account:turn_off",
    "account:turn_on",
    "archive:comparison",
    "archive:download",
    "archive:erase",
    "archive:experiment",
    "archive:export",
    "archive:import",
    "archive:key",
    "archive:own_prompts",
    "archive:progress",
    "archive:prompt_set",
    "archive:remove",
    "archive:remove_prompts",
    "archive:upload_prompts",
    "audit:download",
    "bench:act",
    "account:end_session",
    "bench:act_on_item",
    "bench:act_on_questionnaire",
    "bench:add_questionnaire",
    "bench:undo_questionnaire",
    "bench:candidate_figure",
    "bench:change_selected",
    "bench:clip",
    "bench:curves",
    "bench:example_problems",
    "bench:delete_pilots",
    "bench:drain_worker",
    "bench:examine_site",
    "bench:download_winner",
    "bench:lineage_table",
    "bench:learn_on",
    "bench:live",
    "bench:pilot",
    "bench:poster",
    "bench:questionnaire_figure",
    "bench:refilm",
    "bench:repeat",
    "bench:retrain",
    "bench:rounds_figure",
    "bench:runs_csv",
    "bench:study_file",
    "bench:study_invite",
    "bench:study_setup",
    "bench:study_status",
    "bench:test_model",
    "bench:time_left_figure",
    "comparisons:act",
    "comparisons:file",
    "link_sheet",
    "votes:close",
    "votes:figure",
    "votes:file",
    "votes:invite",
    "votes:open",
    "votes:rate_films",
    "votes:take_out",
    "votes:unblind",
}
"""Addresses that show no page of their own: files, actions, parts of pages."""


def list_names(patterns, prefix=""):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from list_names(pattern.url_patterns, f"{pattern.namespace}:" if pattern.namespace else prefix)
        else:
            yield prefix + pattern.name


def test_every_address_is_looked_at_or_is_no_page():
    assert {name for name in list_names(urlpatterns) if f'"{name}"' not in PAGES} == NO_PAGES


@pytest.fixture(scope="module")
def pages(chromium, site):
    """A signed-in browser's page, and the addresses by name."""
    made = site.python(PAGES)
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{**made["cookie"], "url": site.url}])
    yield context.new_page(), {name: site.url + path for name, path in made["pages"].items()}
    context.close()


FIND_SIDEWAYS = """[document.documentElement, ...document.querySelectorAll(".table-wrap")]
    .filter((one) => one.checkVisibility({ contentVisibilityAuto: true }) && one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.ariaLabel ?? "the page"} scrolls sideways on a phone`)"""
MOST_USED = ("bench:index", "bench:study", "bench:study_step", "bench:experiment", "comparisons:comparison")


def find_violations(page, address, scheme, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    assert page.goto(address).status == 200, address
    page.evaluate(AXE)
    found = page.evaluate(RUN)
    page.set_viewport_size({"width": 390, "height": 800})
    return found + page.evaluate(FIND_SIDEWAYS)


def test_the_pages_that_are_used_most_have_no_violation(pages):
    page, addresses = pages
    breaches = watch_policy(page)
    most = [name for name in addresses if name.split()[0] in MOST_USED]
    found = {name: find_violations(page, addresses[name], *LOOKS[0]) for name in most}
    assert len(found) >= len(MOST_USED) and not any(found.values()), found
    assert breaches == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_no_page_has_a_violation(pages, scheme, width):
    page, addresses = pages
    breaches = watch_policy(page)
    found = {name: find_violations(page, at, scheme, width) for name, at in addresses.items()}
    assert {name: violations for name, violations in found.items() if violations} == {}
    assert breaches == []
