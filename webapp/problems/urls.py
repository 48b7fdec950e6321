from django.urls import path

from webapp.problems import views

urlpatterns = [path("s/<str:token>/attachment/<int:number>/", views.attachment, name="attachment")]
