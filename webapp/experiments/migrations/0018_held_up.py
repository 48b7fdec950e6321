"""Since when a job waits for a full disk or a store that is away."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0017_training_start_words")]
    operations = [migrations.AddField("job", "held_up_at", models.DateTimeField(null=True))]
