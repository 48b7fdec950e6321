from django.apps import AppConfig


class VotesConfig(AppConfig):
    name = "webapp.votes"
    verbose_name = "Votes"

    def ready(self) -> None:
        from webapp.experiments.signals import ratings_requested
        from webapp.problems.signals import uses_requested, votes_requested
        from webapp.votes import problem_pairs, single_results

        uses_requested.connect(problem_pairs.find_polls_on, dispatch_uid="votes")
        ratings_requested.connect(single_results.read_alignments, dispatch_uid="votes")
        votes_requested.connect(problem_pairs.find_polls_showing, dispatch_uid="votes")
