from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "webapp.review"

    def ready(self) -> None:
        from webapp.review import pairs, panels
        from webapp.studies.signals import member_left

        member_left.connect(pairs.release_pairs, dispatch_uid="release pairs")
        member_left.connect(panels.settle_after_leaving, dispatch_uid="settle panels")
