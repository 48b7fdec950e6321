from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0018_training_start_words"),
    ]

    operations = [
        migrations.AddField(
            model_name="arm",
            name="shared_experience",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Each policy of a round learns from what all of them did, under its own reward. Settings "
                "with SAC only. A candidate's result then depends on the others of its round, and scores are not "
                "comparable with the papers'.",
                verbose_name="candidates share their experience",
            ),
        ),
    ]
