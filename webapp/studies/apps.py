from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "webapp.studies"
