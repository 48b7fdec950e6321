from django.apps import AppConfig


class VotesConfig(AppConfig):
    name = "webapp.votes"
    verbose_name = "A/B votes"

    def ready(self) -> None:
        from webapp.problems.signals import uses_requested, votes_requested
        from webapp.votes import answer_pairs

        uses_requested.connect(answer_pairs.find_polls_on, dispatch_uid="votes")
        votes_requested.connect(answer_pairs.find_polls_showing, dispatch_uid="votes")
