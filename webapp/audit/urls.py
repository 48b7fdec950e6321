from django.urls import path

from webapp.audit import views

app_name = "audit"
urlpatterns = [
    path("", views.index, name="index"),
    path("audit.csv", views.download, name="download"),
]
