from django.urls import include, path

from webapp.votes import answers, bench, media, views

bench_patterns = [
    path("", bench.index, name="index"),
    path("<uuid:public_id>/", bench.poll, name="poll"),
    path("<uuid:public_id>/invite/", bench.invite, name="invite"),
    path("<uuid:public_id>/open/", bench.open_poll, name="open"),
    path("<uuid:public_id>/close/", bench.close_poll, name="close"),
    path("<uuid:public_id>/unblind/", bench.unblind, name="unblind"),
    path("<uuid:public_id>/pairs/<int:position>/files/<int:number>/", bench.file, name="file"),
    path("<uuid:public_id>/<slug:slug>.<str:ending>", bench.figure, name="figure"),
]
urlpatterns = [
    path("bench/votes/", include((bench_patterns, "votes"))),
    path("v/<str:token>/", views.evaluate, name="evaluate"),
    path("v/<str:token>/consent/", views.consent, name="evaluate_consent"),
    path("v/<str:token>/answer/", views.vote, name="evaluate_vote"),
    path("v/<str:token>/leave/", views.leave, name="evaluate_leave"),
    path("join/<str:token>/", views.join, name="join"),
    path("view/<str:token>/", media.clip, name="pair_clip"),
    path("view/<str:token>/poster/", media.poster, name="pair_poster"),
    path("view/<str:token>/file/<int:number>/", answers.attachment, name="pair_file"),
]
