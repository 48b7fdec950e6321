from django.urls import path

from webapp.review import media, views

urlpatterns = [
    path("s/<str:token>/vote/", views.vote, name="vote"),
    path("s/<str:token>/undo/", views.undo, name="undo"),
    path("s/<str:token>/viewing/", views.viewing, name="viewing"),
    path("s/<str:token>/report/", views.report, name="report"),
    path("clip/<str:token>/", media.clip, name="clip"),
    path("clip/<str:token>/poster/", media.poster, name="poster"),
]
