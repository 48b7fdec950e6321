from django.apps import AppConfig


class VotesConfig(AppConfig):
    name = "webapp.votes"
    verbose_name = "A/B votes"

    def ready(self) -> None:
        from webapp.problems.signals import asking_for_uses, asking_who_shows
        from webapp.votes import answers

        asking_for_uses.connect(answers.votes_on, dispatch_uid="votes")
        asking_who_shows.connect(answers.votes_showing, dispatch_uid="votes")
