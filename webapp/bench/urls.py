"""Addresses of staff's pages, all under /bench/. A namespace decides which right a change needs (webapp.accounts)."""

from django.urls import URLPattern, URLResolver, include, path, register_converter
from django.urls.converters import StringConverter

from webapp.bench.account import views as account
from webapp.bench.audit import views as audit
from webapp.bench.comparisons import alignment_pages
from webapp.bench.comparisons import views as comparisons
from webapp.bench.data import prompt_pages, single_exports
from webapp.bench.data import views as data
from webapp.bench.experiments import example_problems, model_pages, site_check, time_left, worker_page
from webapp.bench.experiments import run_views as runs
from webapp.bench.experiments import views as experiments
from webapp.bench.studies import gold, gold_pairs, pilots, prolific_page, translation_pages, wizard
from webapp.bench.studies import views as studies
from webapp.bench.studies.link_sheet import link_sheet
from webapp.bench.studies.questionnaires import responses as questionnaire_answers
from webapp.bench.studies.questionnaires import views as questionnaires
from webapp.bench.votes import pair_pages as vote_pairs
from webapp.bench.votes import single_pages as single_votes
from webapp.bench.votes import views as votes


class ArchiveKind(StringConverter):
    regex = "export|import"


register_converter(ArchiveKind, "archive_kind")

account_patterns = [
    path("", account.account, name="account"),
    path("two-factor/on/", account.turn_on, name="turn_on"),
    path("two-factor/codes/", account.new_codes, name="new_codes"),
    path("two-factor/off/", account.turn_off, name="turn_off"),
    path("sessions/<str:name>/end/", account.end_session, name="end_session"),
]
audit_patterns = [
    path("", audit.index, name="index"),
    path("audit.csv", audit.download, name="download"),
]
data_patterns = [
    path("", data.index, name="index"),
    path("<int:pk>/", data.study, name="study"),
    path("<int:pk>/export/", data.export, name="export"),
    path("<int:pk>/key/", data.key_table, name="key"),
    path("<int:pk>/erase/", data.erase, name="erase"),
    path("import/", data.import_study, name="import"),
    path("<archive_kind:kind>/<uuid:public_id>/", data.progress, name="progress"),
    path("experiment/<uuid:public_id>/", single_exports.experiment, name="experiment"),
    path("comparison/<uuid:public_id>/", single_exports.comparison, name="comparison"),
    path("experiments/<uuid:public_id>/", single_exports.single, name="single"),
    path("prompts/", prompt_pages.index, name="prompts"),
    path("prompts/upload/", prompt_pages.upload, name="upload_prompts"),
    path("prompts/prefine.zip", prompt_pages.download_own, name="own_prompts"),
    path("prompts/<int:pk>.zip", prompt_pages.download, name="prompt_set"),
    path("prompts/<int:pk>/remove/", prompt_pages.remove, name="remove_prompts"),
    path("export/<uuid:public_id>.zip", data.download, name="download"),
    path("export/<uuid:public_id>/delete/", data.delete_export, name="remove"),
]
comparison_patterns = [
    path("", comparisons.index, name="index"),
    path("new/", comparisons.new, name="new"),
    path("<uuid:public_id>/", comparisons.comparison, name="comparison"),
    path("<uuid:public_id>/alignment/", alignment_pages.show_alignment, name="alignment"),
    path("<uuid:public_id>/do/<str:action>/", comparisons.act, name="act"),
    path("<uuid:public_id>/files/<str:name>", comparisons.file, name="file"),
]
vote_patterns = [
    path("", votes.index, name="index"),
    path("<uuid:public_id>/", votes.poll, name="poll"),
    path("<uuid:public_id>/languages/", translation_pages.poll_languages, name="poll_languages"),
    path("<uuid:public_id>/languages/<str:code>/", translation_pages.poll_texts_page, name="poll_texts"),
    path("new/", votes.new, name="new"),
    path("grading/", single_votes.draft_grading, name="grading"),
    path("films/<uuid:comparison_id>/", single_votes.draft_rating, name="rate_films"),
    path("<uuid:public_id>/setup/", votes.setup, name="setup"),
    path("<uuid:public_id>/pairs/", vote_pairs.make_pairs, name="pairs"),
    path("<uuid:public_id>/items/<int:position>/take-out/", single_votes.take_out, name="take_out"),
    path("<uuid:public_id>/invite/", votes.invite, name="invite"),
    path("<uuid:public_id>/open/", votes.open_poll, name="open"),
    path("<uuid:public_id>/close/", votes.close_poll, name="close"),
    path("<uuid:public_id>/unblind/", votes.unblind, name="unblind"),
    path("<uuid:public_id>/pairs/<int:position>/files/<int:number>/", votes.file, name="file"),
    path("<uuid:public_id>/<slug:slug>.<str:ending>", votes.figure, name="figure"),
]
questionnaire_patterns = [
    path("", questionnaires.index, name="questionnaires"),
    path("add/", questionnaires.add, name="add_questionnaire"),
    path("undo/", questionnaires.undo_deletion, name="undo_questionnaire"),
    path("answers/", questionnaire_answers.show, name="questionnaire_results"),
    path("answers/<slug:slug>.<str:ending>", questionnaire_answers.figure, name="questionnaire_figure"),
    path("<int:number>/", questionnaires.edit, name="questionnaire"),
    path("<int:number>/do/<str:action>/", questionnaires.act, name="act_on_questionnaire"),
    path("<int:number>/items/<int:item_pk>/", questionnaires.item, name="questionnaire_item"),
    path("<int:number>/items/<int:item_pk>/do/<str:action>/", questionnaires.act_on_item, name="act_on_item"),
]
study_patterns: list[URLPattern | URLResolver] = [
    path("studies/", studies.index, name="studies"),
    path("studies/new/", wizard.new, name="study_new"),
    path("studies/<int:pk>/", studies.study, name="study"),
    path("studies/<int:pk>/setup/", wizard.setup, name="study_setup"),
    path("studies/<int:pk>/setup/gold/", gold.gold, name="study_gold"),
    path("studies/<int:pk>/setup/gold-pairs/", gold_pairs.gold_pairs, name="study_gold_pairs"),
    path("studies/<int:pk>/setup/<slug:name>/", wizard.step, name="study_step"),
    path("studies/<int:pk>/status/", studies.status, name="study_status"),
    path("studies/<int:pk>/invite/", studies.invite, name="study_invite"),
    path("studies/<int:pk>/setup/texts/<str:code>/", translation_pages.study_texts, name="study_texts"),
    path("studies/<int:pk>/questionnaires/", include(questionnaire_patterns)),
    path("studies/<int:pk>/prolific/", prolific_page.page, name="study_prolific"),
    path("studies/<int:pk>/pilot/", pilots.start, name="pilot"),
    path("studies/<int:pk>/pilots/delete/", pilots.delete, name="delete_pilots"),
    path("studies/<int:pk>/<slug:name>.<str:ending>", studies.study_file, name="study_file"),
    path("<uuid:public_id>/lineage/", studies.lineage_page, name="lineage"),
    path("<uuid:public_id>/lineage.<str:ending>", studies.lineage_table, name="lineage_table"),
]
experiment_patterns = [
    path("", runs.index, name="index"),
    path("experiments.csv", runs.download, name="runs_csv"),
    path("new/", experiments.new, name="experiment_new"),
    path("selected/", runs.show_selected, name="selected"),
    path("selected/<slug:slug>.<str:ending>", runs.curves, name="curves"),
    path("selected/<str:action>/", runs.change_selected, name="change_selected"),
    path("time-left/", time_left.page, name="time_left"),
    path("time-left/time-left.<str:ending>", time_left.figure, name="time_left_figure"),
    path("workers/", worker_page.page, name="workers"),
    path("workers/site-check/", site_check.examine, name="examine_site"),
    path("workers/<int:pk>/drain/", worker_page.drain, name="drain_worker"),
    path("tasks/", experiments.tasks, name="tasks"),
    path("tasks/example-problems/", example_problems.make_examples, name="example_problems"),
    path("tasks/<str:name>/", experiments.task, name="task"),
    path("models/new/", model_pages.new_model, name="model_new"),
    path("models/<int:pk>/", model_pages.edit_model, name="model_edit"),
    path("models/<int:pk>/test/", model_pages.test_model, name="test_model"),
    path("clips/<uuid:name>.mp4", experiments.clip, name="clip"),
    path("clips/<uuid:name>.jpg", experiments.poster, name="poster"),
    path("clips/<int:pk>/refilm/", experiments.refilm, name="refilm"),
    path("<uuid:public_id>/", experiments.experiment, name="experiment"),
    path("<uuid:public_id>/live/", experiments.live, name="live"),
    path("<uuid:public_id>/edit/", experiments.edit, name="experiment_edit"),
    path("<uuid:public_id>/repeat/", experiments.repeat, name="repeat"),
    path("<uuid:public_id>/retrain/", experiments.retrain, name="retrain"),
    path("<uuid:public_id>/learn-on/", experiments.learn_on, name="learn_on"),
    path("<uuid:public_id>/winner.zip", experiments.download_winner, name="download_winner"),
    path("<uuid:public_id>/rounds.<str:ending>", experiments.rounds_figure, name="rounds_figure"),
    path("<uuid:public_id>/pairs/<int:number>/", experiments.asked_pairs, name="asked_pairs"),
    path("<uuid:public_id>/<str:key>/", experiments.candidate, name="candidate"),
    path("<uuid:public_id>/<str:key>/<str:slug>.<str:ending>", experiments.candidate_figure, name="candidate_figure"),
    path("<uuid:public_id>/do/<str:action>/", experiments.act, name="act"),
]
urlpatterns = [
    path("studies/<int:study_id>/links/sheet.csv", link_sheet, name="link_sheet"),
    path("account/", include((account_patterns, "account"))),
    path("audit/", include((audit_patterns, "audit"))),
    path("data/", include((data_patterns, "archive"))),
    path("comparisons/", include((comparison_patterns, "comparisons"))),
    path("votes/", include((vote_patterns, "votes"))),
    path("", include(([*study_patterns, *experiment_patterns], "bench"))),
]
