from django.urls import path

from webapp.comparisons import views

app_name = "comparisons"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("<uuid:public_id>/", views.comparison, name="comparison"),
    path("<uuid:public_id>/do/<str:action>/", views.act, name="act"),
    path("<uuid:public_id>/files/<str:name>", views.file, name="file"),
]
