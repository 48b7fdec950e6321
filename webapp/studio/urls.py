"""Addresses of the pages for participants (/s/...) and evaluators (/v/...), and of the media their tickets open."""

from django.urls import path

from webapp.review import media
from webapp.studio import attachments, evaluators, notices, open_link, preview, steps, views, voting
from webapp.votes import media as vote_media

urlpatterns = [
    path("", views.home, name="home"),
    path("start/<int:study_id>/", views.start, name="start"),
    path("s/<str:token>/", views.studio, name="studio"),
    path("s/<str:token>/live/", views.live, name="live"),
    path("s/<str:token>/consent/", views.consent, name="consent"),
    path("s/<str:token>/ready/", views.ready, name="ready"),
    path("s/<str:token>/leave/", views.leave, name="leave"),
    *steps.urlpatterns,
    *open_link.urlpatterns,
    *preview.urlpatterns,
    path("s/<str:token>/vote/", voting.vote, name="vote"),
    path("s/<str:token>/undo/", voting.undo, name="undo"),
    path("s/<str:token>/viewing/", voting.viewing, name="viewing"),
    path("s/<str:token>/report/", voting.report, name="report"),
    path("clip/<str:token>/", media.serve_clip, name="clip"),
    path("clip/<str:token>/poster/", media.serve_poster, name="poster"),
    path("s/<str:token>/attachment/<int:number>/", attachments.attachment, name="attachment"),
    path("v/<str:token>/", evaluators.evaluate, name="evaluate"),
    path("v/<str:token>/consent/", evaluators.consent, name="evaluate_consent"),
    path("v/<str:token>/answer/", evaluators.vote, name="evaluate_vote"),
    path("v/<str:token>/leave/", evaluators.leave, name="evaluate_leave"),
    path("join/<str:token>/", evaluators.join, name="join"),
    path("view/<str:token>/", vote_media.clip, name="pair_clip"),
    path("view/<str:token>/poster/", vote_media.poster, name="pair_poster"),
    path("view/<str:token>/file/<int:number>/", evaluators.attachment, name="pair_file"),
    path("s/<str:token>/tell/email/", notices.leave_address, name="leave_address"),
    path("s/<str:token>/tell/email/stop/", notices.take_address_back, name="take_address_back"),
    path("s/<str:token>/tell/push/", notices.subscribe, name="subscribe"),
    path("s/<str:token>/tell/push/stop/", notices.unsubscribe, name="unsubscribe"),
    path("n/<str:token>/", notices.stop, name="stop_notices"),
    path("sw.js", notices.worker, name="service_worker"),
]
