"""Addresses of the pages for participants (/s/...) and evaluators (/v/...), and of their media."""

from django.urls import path

from webapp.review import media
from webapp.studio import (
    attachments,
    evaluator_preview,
    evaluators,
    notice_views,
    open_link,
    page_language,
    pair_views,
    preview,
    questionnaires,
    step_views,
    views,
    voting,
)
from webapp.votes import pair_media as vote_media

urlpatterns = [
    path("", views.show_home, name="home"),
    path("start/<int:study_id>/", views.start_demonstration, name="start"),
    path("s/<str:token>/", views.show_studio, name="studio"),
    path("s/<str:token>/live/", views.update_page, name="live"),
    path("s/<str:token>/consent/", views.give_consent, name="consent"),
    path("s/<str:token>/ready/", views.confirm_instructions, name="ready"),
    path("s/<str:token>/leave/", views.leave_study, name="leave"),
    *page_language.urlpatterns,
    *step_views.urlpatterns,
    *questionnaires.urlpatterns,
    *open_link.urlpatterns,
    *pair_views.urlpatterns,
    *preview.urlpatterns,
    *evaluator_preview.urlpatterns,
    path("s/<str:token>/vote/", voting.cast_vote, name="vote"),
    path("s/<str:token>/undo/", voting.undo_vote, name="undo"),
    path("s/<str:token>/viewing/", voting.save_viewing, name="viewing"),
    path("s/<str:token>/report/", voting.report_clip, name="report"),
    path("clip/<str:token>/", media.serve_clip, name="clip"),
    path("clip/<str:token>/poster/", media.serve_poster, name="poster"),
    path("s/<str:token>/attachment/<int:number>/", attachments.serve_attachment, name="attachment"),
    path("v/<str:token>/", evaluators.show_vote, name="evaluate"),
    path("v/<str:token>/consent/", evaluators.give_consent, name="evaluate_consent"),
    path("v/<str:token>/answer/", evaluators.cast_vote, name="evaluate_vote"),
    path("v/<str:token>/undo/", evaluators.take_back, name="evaluate_undo"),
    path("v/<str:token>/leave/", evaluators.leave_poll, name="evaluate_leave"),
    path("join/<str:token>/", evaluators.join_poll, name="join"),
    path("view/<str:token>/", vote_media.serve_clip, name="pair_clip"),
    path("view/<str:token>/poster/", vote_media.serve_poster, name="pair_poster"),
    path("view/<str:token>/file/<int:number>/", evaluators.serve_attachment, name="pair_file"),
    path("s/<str:token>/tell/email/", notice_views.save_address, name="leave_address"),
    path("s/<str:token>/tell/email/stop/", notice_views.delete_address, name="take_address_back"),
    path("s/<str:token>/tell/push/", notice_views.subscribe, name="subscribe"),
    path("s/<str:token>/tell/push/stop/", notice_views.unsubscribe, name="unsubscribe"),
    path("n/<str:token>/", notice_views.stop_messages, name="stop_notices"),
    path("sw.js", notice_views.serve_worker, name="service_worker"),
]
