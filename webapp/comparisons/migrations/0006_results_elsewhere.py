from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('comparisons', '0001_squashed_0005_judging_models'),
    ]

    operations = [
        migrations.AddField(
            model_name='comparison',
            name='elsewhere',
            field=models.JSONField(default=dict, editable=False),
        ),
    ]
