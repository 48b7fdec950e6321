"""Starts Django. Only tests that need it import this: it takes more than a second of processor time."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()
