from django.urls import path

from webapp.board import views

app_name = "board"
urlpatterns = [
    path("<uuid:public_id>/lineage/", views.lineage_page, name="lineage"),
    path("<uuid:public_id>/lineage.<str:ending>", views.lineage_table, name="lineage_table"),
]
