from django.urls import path

from webapp.people import views

app_name = "people"
urlpatterns = [
    path("", views.account, name="account"),
    path("two-factor/on/", views.turn_on, name="turn_on"),
    path("two-factor/codes/", views.new_codes, name="new_codes"),
    path("two-factor/off/", views.turn_off, name="turn_off"),
]
