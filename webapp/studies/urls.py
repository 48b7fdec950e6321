from django.urls import path

from webapp.studies import preview, steps, take, views

urlpatterns = [
    path("", views.home, name="home"),
    path("start/<int:study_id>/", views.start, name="start"),
    path("s/<str:token>/", views.studio, name="studio"),
    path("s/<str:token>/live/", views.live, name="live"),
    path("s/<str:token>/consent/", views.consent, name="consent"),
    path("s/<str:token>/ready/", views.ready, name="ready"),
    path("s/<str:token>/leave/", views.leave, name="leave"),
    *steps.urlpatterns,
    *take.urlpatterns,
    *preview.urlpatterns,
]
