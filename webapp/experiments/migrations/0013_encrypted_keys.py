from django.db import migrations
from django.db.models import TextField, Value

import webapp.base.encryption


def encrypt_keys(apps, schema_editor):
    for model in apps.get_model("experiments", "LanguageModel").objects.exclude(api_key=""):
        model.save(update_fields=["api_key"])


def decrypt_keys(apps, schema_editor):
    models = apps.get_model("experiments", "LanguageModel").objects
    for model in models.exclude(api_key=""):
        readable = webapp.base.encryption.is_readable(model.api_key)
        plain = model.api_key if readable else ""
        models.filter(pk=model.pk).update(api_key=Value(plain, output_field=TextField()))


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0012_retrains"),
    ]

    operations = [
        migrations.AlterField(
            model_name="languagemodel",
            name="api_key",
            field=webapp.base.encryption.EncryptedField(
                blank=True, help_text="Kept on this server, never shown again."
            ),
        ),
        migrations.RunPython(encrypt_keys, decrypt_keys),
    ]
