import django.db.models.deletion
import django_otp.plugins.otp_totp.models
from django.db import migrations, models

import webapp.base.encryption
from webapp.accounts.recovery_codes import hash_code

PLAIN_LENGTH = 8
"""Letters of a recovery code; a hash has 16."""


def encrypt_seeds(apps, schema_editor):
    Device = apps.get_model("otp_totp", "TOTPDevice")
    App = apps.get_model("accounts", "AuthenticatorApp")
    for device in Device.objects.exclude(key=""):
        App(totpdevice_ptr=device, seed=device.key).save_base(raw=True)
        Device.objects.filter(pk=device.pk).update(key="")


def decrypt_seeds(apps, schema_editor):
    Device = apps.get_model("otp_totp", "TOTPDevice")
    for app in apps.get_model("accounts", "AuthenticatorApp").objects.all():
        Device.objects.filter(pk=app.pk).update(key=app.seed[:80])


def hash_recovery_codes(apps, schema_editor):
    """There is no way back: after an older version is installed again, people draw new recovery codes."""
    for row in apps.get_model("otp_static", "StaticToken").objects.all():
        if len(row.token) == PLAIN_LENGTH:
            row.token = hash_code(row.token)
            row.save(update_fields=["token"])


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("otp_totp", "0003_add_timestamps"),
        ("otp_static", "0003_add_timestamps"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuthenticatorApp",
            fields=[
                (
                    "totpdevice_ptr",
                    models.OneToOneField(
                        auto_created=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        parent_link=True,
                        primary_key=True,
                        serialize=False,
                        to="otp_totp.totpdevice",
                    ),
                ),
                (
                    "seed",
                    webapp.base.encryption.EncryptedField(
                        default=django_otp.plugins.otp_totp.models.default_key, editable=False
                    ),
                ),
            ],
            options={"verbose_name": "authenticator app"},
            bases=("otp_totp.totpdevice",),
        ),
        migrations.RunPython(encrypt_seeds, decrypt_seeds),
        migrations.RunPython(hash_recovery_codes, migrations.RunPython.noop),
    ]
