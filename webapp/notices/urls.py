from django.urls import path

from webapp.notices import views

urlpatterns = [
    path("s/<str:token>/tell/email/", views.leave_address, name="leave_address"),
    path("s/<str:token>/tell/email/stop/", views.take_address_back, name="take_address_back"),
    path("s/<str:token>/tell/push/", views.subscribe, name="subscribe"),
    path("s/<str:token>/tell/push/stop/", views.unsubscribe, name="unsubscribe"),
    path("n/<str:token>/", views.stop, name="stop_notices"),
    path("sw.js", views.worker, name="service_worker"),
]
