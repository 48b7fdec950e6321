"""Secrets in the database: what another reads of a copy of it, how keys change, what earlier versions saved."""

import json
import os
import stat
import subprocess
import sys
import zipfile
from contextlib import nullcontext

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from llm.errors import Unauthorized
from tests.webapp.servers import ROOT
from webapp.accounts import twofactor
from webapp.accounts.models import AuthenticatorApp
from webapp.backup import archive, databases, keys, restore
from webapp.base import encryption
from webapp.experiments.models import LanguageModel

KEY = "sk-live-0123456789abcdef"


def read_column(table, column):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        return [row[0] for row in cursor.fetchall()]


@pytest.fixture
def model(db):
    return LanguageModel.objects.create(name="paid", kind="openai", base_url="https://a.example", api_key=KEY)


def test_the_database_holds_no_key_seed_or_code_in_plain_text(model):
    user = User.objects.create_user("eve")
    app = twofactor.begin_setup(user)
    codes = twofactor.renew_recovery_codes(user)
    assert read_column("experiments_languagemodel", "api_key")[0].startswith(encryption.MARK)
    assert read_column("otp_totp_totpdevice", "key") == [""]
    assert read_column("accounts_authenticatorapp", "seed")[0].startswith(encryption.MARK)
    assert not set(codes) & set(read_column("otp_static_statictoken", "token"))
    assert LanguageModel.objects.get().key == KEY
    assert AuthenticatorApp.objects.get().bin_key == app.bin_key and len(app.bin_key) == 20
    assert twofactor.verify_code(user, codes[3]) is not None
    assert twofactor.verify_code(user, codes[3]) is None and StaticToken.objects.count() == 9


def test_rotation_with_the_file_draws_a_key_and_drops_the_old_one(model, settings):
    path = settings.DATA_DIR / "encryption_key"
    before, sealed = path.read_text(), read_column("experiments_languagemodel", "api_key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    call_command("rotate_encryption_keys", verbosity=0)
    assert len(path.read_text().split()) == 1 and path.read_text() != before
    assert read_column("experiments_languagemodel", "api_key") != sealed
    assert LanguageModel.objects.get().key == KEY


def test_rotation_with_keys_of_the_environment(db, settings):
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.ENCRYPTION_KEYS = [old]
    LanguageModel.objects.create(name="paid", api_key=KEY)
    settings.ENCRYPTION_KEYS = [new, old]
    call_command("rotate_encryption_keys", verbosity=0)
    settings.ENCRYPTION_KEYS = [new]
    assert LanguageModel.objects.get().key == KEY
    settings.ENCRYPTION_KEYS = [old]
    with pytest.raises(Unauthorized, match="enter it again, or restore PREFINE_ENCRYPTION_KEYS"):
        _ = LanguageModel.objects.get().key


def test_a_key_that_is_saved_during_the_rotation_stays(model, monkeypatch):
    """The old one was written over it."""
    encrypt = encryption.encrypt

    def save_meanwhile(text):
        if text == KEY:
            LanguageModel.objects.update(api_key="sk-entered-meanwhile")
        return encrypt(text)

    monkeypatch.setattr(encryption, "encrypt", save_meanwhile)
    call_command("rotate_encryption_keys", verbosity=0)
    monkeypatch.undo()
    assert LanguageModel.objects.get().key == "sk-entered-meanwhile"


def test_a_key_that_cannot_be_read_is_not_lost(model, settings):
    path = settings.DATA_DIR / "encryption_key"
    right = path.read_text()
    path.write_text(Fernet.generate_key().decode())
    unreadable = LanguageModel.objects.get()
    unreadable.timeout = 60
    unreadable.save()
    with pytest.raises(CommandError, match="1 secrets cannot be read"):
        call_command("rotate_encryption_keys", verbosity=0)
    path.write_text(right)
    assert LanguageModel.objects.get().key == KEY


def migrate(*names):
    for app, number in names:
        call_command("migrate", app, number, verbosity=0)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_database_of_an_earlier_version_is_encrypted_by_migrate_and_can_go_back(transactional_db):
    backwards = (("accounts", "zero"), ("experiments", "0012"))
    migrate(*backwards)
    user = User.objects.create_user("eve")
    TOTPDevice.objects.create(user=user, confirmed=True, key="ab" * 20)
    StaticDevice.objects.create(user=user).token_set.create(token="abcdefgh")
    with connection.cursor() as cursor:
        names = "name, kind, base_url, model, api_key, concurrency, timeout"
        values = "'paid', 'openai', 'https://a.example', 'm', %s, 8, 9"
        cursor.execute(f"INSERT INTO experiments_languagemodel ({names}) VALUES ({values})", [KEY])
    migrate(("accounts", "0001"), ("experiments", "0013"))
    assert read_column("otp_totp_totpdevice", "key") == [""]
    assert read_column("experiments_languagemodel", "api_key")[0].startswith(encryption.MARK)
    app = twofactor.find_app(user)
    assert app is not None and app.bin_key.hex() == "ab" * 20
    assert twofactor.verify_code(user, "ABCD efgh") is not None
    assert LanguageModel.objects.get().key == KEY
    migrate(*backwards)
    assert read_column("otp_totp_totpdevice", "key") == ["ab" * 20]
    assert read_column("experiments_languagemodel", "api_key") == [KEY]
    migrate(("accounts", "0001"), ("experiments", "0013"))


def test_other_users_of_the_machine_read_nothing(tmp_path):
    """Also what an earlier version made: a data folder 0755, a database 0644."""
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    for name in ("db.sqlite3", "secret_key"):
        (data / name).write_text("x")
        (data / name).chmod(0o644)
    environment = os.environ | {"PREFINE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    code = "from django.conf import settings; settings.DATA_DIR"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert [stat.S_IMODE((data / name).stat().st_mode) for name in ("db.sqlite3", "secret_key")] == [0o600] * 2


@pytest.mark.parametrize("keys", ["short", Fernet.generate_key().decode() + ",x"], ids=["short", "second"])
def test_keys_that_are_none_stop_the_start(keys):
    environment = os.environ | {"PREFINE_ENCRYPTION_KEYS": keys, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    code = "from django.conf import settings; settings.DATA_DIR"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "PREFINE_ENCRYPTION_KEYS must be" in ended.stderr


def test_an_app_whose_key_is_gone_refuses_in_words_and_a_recovery_code_still_works(client, settings, db):
    user = User.objects.create_superuser("eve", password="correct horse battery")
    AuthenticatorApp.objects.create(user=user, confirmed=True)
    unconfirmed = AuthenticatorApp.objects.create(user=user, confirmed=False)
    code = twofactor.renew_recovery_codes(user)[0]
    (settings.DATA_DIR / "encryption_key").write_text(Fernet.generate_key().decode())
    form = {"username": "eve", "password": "correct horse battery"}
    refused = client.post("/admin/login/", form | {"code": "123456"})
    assert refused.status_code == 200 and "restore PREFINE_ENCRYPTION_KEYS" in refused.content.decode()
    assert client.post("/admin/login/", form | {"code": code}).status_code == 302
    assert twofactor.begin_setup(user).readable
    assert not AuthenticatorApp.objects.filter(pk=unconfirmed.pk).exists()


def test_a_restore_whose_database_cannot_be_loaded_leaves_the_keys(settings, tmp_path, monkeypatch):
    encryption.encrypt("draws a key")
    before = (settings.DATA_DIR / "encryption_key").read_text()
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as file:
        name = databases.get_file_name()
        file.writestr(name, b"x")
        file.writestr("keys/PREFINE_ENCRYPTION_KEYS", Fernet.generate_key())
        listed = {name: {"size": 1}, "keys/PREFINE_ENCRYPTION_KEYS": {"size": 44}}
        facts = {"format": 1, "database": connection.vendor, "migrations": [], "files": listed}
        file.writestr("manifest.json", json.dumps(facts))
    monkeypatch.setattr(archive.Reader, "verify", lambda self, progress: None)
    monkeypatch.setattr(databases, "check", lambda file: None)
    monkeypatch.setattr(restore, "require_stopped", nullcontext)

    def fail(source):
        raise databases.Failed("psql failed")

    monkeypatch.setattr(databases, "load", fail)
    with pytest.raises(databases.Failed):
        restore.restore_backup(archive.Reader(tmp_path / "backup.zip"), print)
    assert (settings.DATA_DIR / "encryption_key").read_text() == before


@pytest.mark.parametrize("padding", ["", "="])
def test_keys_of_a_variable_are_restored_as_a_file_that_can_be_read(model, settings, padding):
    """compose/setup.sh draws keys without the sign at their end."""
    first, second = (Fernet.generate_key().decode().rstrip("=") + padding for _ in range(2))
    assert not list(keys.write_keys({"PREFINE_ENCRYPTION_KEYS": f"{first}, {second}".encode()}))
    assert len((settings.DATA_DIR / "encryption_key").read_text().split()) == 2
    assert encryption.decrypt(encryption.encrypt("a secret")) == "a secret"
