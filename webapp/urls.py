from django.contrib import admin
from django.urls import include, path

admin.autodiscover()  # not in every process: see webapp/bench/admin_config.py
handler500 = "webapp.base.error_pages.show_error"
urlpatterns = [
    path("admin/", admin.site.urls),
    path("bench/", include("webapp.bench.urls")),
    path("", include("webapp.studio.urls")),
]
