from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("bench/", include("webapp.bench.urls")),
    path("", include("webapp.studio.urls")),
]
