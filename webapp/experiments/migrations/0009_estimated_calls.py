from django.db import migrations, models


def mark_estimated(apps, schema_editor):
    calls = apps.get_model("experiments", "ModelCall")
    calls.objects.filter(data__usage__estimated=True).update(estimated=True)


class Migration(migrations.Migration):

    dependencies = [
        ("experiments", "0008_revisions"),
    ]

    operations = [
        migrations.AddField(
            model_name="modelcall",
            name="estimated",
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(mark_estimated, migrations.RunPython.noop),
    ]
