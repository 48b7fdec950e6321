from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "webapp.review"

    def ready(self) -> None:
        from webapp.review import panels
        from webapp.studies.signals import member_left

        member_left.connect(panels.settle_after_leaving, dispatch_uid="settle panels")
