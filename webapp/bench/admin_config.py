"""Django's admin as this installation runs it. It is named in the settings, so it imports no model."""

from __future__ import annotations

from django.contrib.admin.apps import SimpleAdminConfig


class SetUpConfig(SimpleAdminConfig):
    """Without Django's search for admin modules: only a site needs its pages, which webapp/urls.py loads."""

    default_site = "webapp.bench.admin_site.SetUpSite"
