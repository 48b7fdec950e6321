from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("bench/", include("webapp.board.urls")),
    path("bench/account/", include("webapp.people.urls")),
    path("bench/audit/", include("webapp.audit.urls")),
    path("bench/data/", include("webapp.archive.urls")),
    path("bench/comparisons/", include("webapp.comparisons.urls")),
    path("bench/", include("webapp.experiments.urls")),
    path("", include("webapp.studies.urls")),
    path("", include("webapp.review.urls")),
    path("", include("webapp.problems.urls")),
    path("", include("webapp.votes.urls")),
    path("", include("webapp.notices.urls")),
]
