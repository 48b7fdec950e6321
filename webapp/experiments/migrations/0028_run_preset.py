from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0027_prompt_sets")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="preset",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
    ]
