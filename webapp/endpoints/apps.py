from django.apps import AppConfig


class EndpointsConfig(AppConfig):
    default_auto_field = "django.db.models.BigAutoField"
    name = "webapp.endpoints"
    verbose_name = "Endpoints"
