"""Fixtures of all tests of pages: static files without a build, a data folder for each test."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase
from pytest_django.plugin import blocking_manager_key

import tests.with_django  # noqa: F401 (before whatever imports a model)
from simulation import catalog
from tests import short_training
from tests.webapp import bench_rows
from tests.webapp.exports import saved_export  # noqa: F401
from tests.webapp.kept_trainings import kept_trainings  # noqa: F401
from tests.webapp.object_storage import any_store, s3_server, s3_store  # noqa: F401
from tests.webapp.request_answers import register_method, without_heartbeat  # noqa: F401
from tests.webapp.servers import create_database, migrated, postgres, redis, stack  # noqa: F401
from tests.webapp.small_disks import small_disk  # noqa: F401
from webapp.experiments import durations


def pytest_configure(config):
    config.stash[blocking_manager_key].block()  # pytest-django does so where Django is started before it


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker):
    """A copy of a database that has every migration."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        connection.close()
        if connection.vendor == "sqlite":
            own = connection.settings_dict["TEST"]["NAME"]
            shutil.copy(migrated(), own)
        else:
            own = create_database(connection.settings_dict["PORT"])
        empty = copy_migrated_database if connection.vendor == "sqlite" else empty_tables
        django_settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = str(own)
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty())
        yield


@pytest.fixture
def staff(client):
    """The client, signed in as staff."""
    client.force_login(bench_rows.create_staff())
    return client


@pytest.fixture
def without_undo(settings):
    """Answers are final at once: a vote closes with the last of them."""
    settings.UNDO_SECONDS = 0


MIGRATED = ("django_content_type", "auth_permission", "auth_group", "auth_group_permissions")
"""Tables with rows that migrations made."""


def copy_migrated_database():
    """Empty SQLite's test database. Django's flush makes all permissions again, which takes ten times as long."""
    connection.ensure_connection()
    with closing(sqlite3.connect(migrated())) as source:
        source.backup(connection.connection)


def empty_tables():
    """Empty a PostgreSQL database, except what migrations made. TRUNCATE takes its time for empty tables, too."""
    names = [name for name in connection.introspection.django_table_names() if name not in MIGRATED]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"(SELECT '{name}' FROM \"{name}\" LIMIT 1)" for name in names))
        deleted = "".join(f'DELETE FROM "{name}";' for (name,) in cursor.fetchall())
        cursor.execute(f"SET session_replication_role = replica; {deleted} SET session_replication_role = DEFAULT")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path_factory):
    cache.clear()  # it counts what an address may do
    settings.DATA_DIR = tmp_path_factory.mktemp("data")
    settings.STATIC_ROOT = tmp_path_factory.mktemp("static")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # others take a third of a second
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture(autouse=True)
def idle_machine(monkeypatch):
    """Estimates of the time left count what else runs on this machine; pages share for seconds what was measured."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(durations, "SHARED_SECONDS", 0.0)


@pytest.fixture
def data(settings, folders):
    """The data folder: the store's, the trainings', the records'."""
    return settings.DATA_DIR


@pytest.fixture(scope="module")
def short_trainings(tmp_path_factory):
    """The processes that train and film are those of short_training.py, and film once."""
    info = catalog.get_task("Cartpole")
    quick = replace(info.presets["quick"], **short_training.TRAINING, iterations=short_training.ITERATIONS)
    short = replace(info, clip_seconds=short_training.SECONDS, presets={**info.presets, "quick": quick})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", short_training.python(tmp_path_factory.mktemp("python")))
        patch.setattr(django_settings, "FILM_AT", (100,))
        patch.setitem(catalog.list_tasks(), "Cartpole", short)
        yield
