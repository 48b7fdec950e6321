from django.apps import AppConfig


class VotesConfig(AppConfig):
    name = "webapp.votes"
    verbose_name = "A/B votes"
