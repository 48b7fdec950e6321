from django.urls import path, register_converter
from django.urls.converters import StringConverter

from webapp.archive import views


class KindConverter(StringConverter):
    regex = "export|import"


register_converter(KindConverter, "archive_kind")
app_name = "archive"
urlpatterns = [
    path("", views.index, name="index"),
    path("<int:pk>/", views.study, name="study"),
    path("<int:pk>/export/", views.export, name="export"),
    path("<int:pk>/key/", views.key_table, name="key"),
    path("<int:pk>/erase/", views.erase, name="erase"),
    path("import/", views.bring, name="import"),
    path("<archive_kind:kind>/<uuid:public_id>/", views.progress, name="progress"),
    path("export/<uuid:public_id>.zip", views.download, name="download"),
    path("export/<uuid:public_id>/delete/", views.remove, name="remove"),
]
