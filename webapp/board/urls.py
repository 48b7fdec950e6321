from django.urls import path

from webapp.board import views

app_name = "board"
urlpatterns = [
    path("studies/", views.index, name="index"),
    path("studies/<int:pk>/", views.study, name="study"),
    path("studies/<int:pk>/<slug:name>.<str:ending>", views.study_file, name="study_file"),
    path("<uuid:public_id>/lineage/", views.lineage_page, name="lineage"),
    path("<uuid:public_id>/lineage.<str:ending>", views.lineage_table, name="lineage_table"),
]
