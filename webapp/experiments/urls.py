from django.urls import path

from webapp.experiments import views

app_name = "bench"
urlpatterns = [
    path("", views.index, name="index"),
    path("tasks/", views.tasks, name="tasks"),
    path("tasks/<str:name>/", views.task, name="task"),
    path("models/<int:pk>/test/", views.test_model, name="test_model"),
    path("clips/<uuid:name>.mp4", views.clip, name="clip"),
    path("clips/<uuid:name>.jpg", views.poster, name="poster"),
    path("clips/<int:pk>/refilm/", views.refilm, name="refilm"),
    path("<uuid:public_id>/", views.experiment, name="experiment"),
    path("<uuid:public_id>/live/", views.live, name="live"),
    path("<uuid:public_id>/rounds.<str:ending>", views.rounds_figure, name="rounds_figure"),
    path("<uuid:public_id>/<str:key>/", views.candidate, name="candidate"),
    path("<uuid:public_id>/<str:key>/<str:slug>.<str:ending>", views.candidate_figure, name="candidate_figure"),
    path("<uuid:public_id>/do/<str:action>/", views.act, name="act"),
]
