import webapp.studies.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('studies', '0006_move_to_arms'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='study',
            name='describer',
        ),
        migrations.RemoveField(
            model_name='study',
            name='dollar_budget',
        ),
        migrations.RemoveField(
            model_name='study',
            name='judge',
        ),
        migrations.RemoveField(
            model_name='study',
            name='judge_model',
        ),
        migrations.RemoveField(
            model_name='study',
            name='judge_options',
        ),
        migrations.RemoveField(
            model_name='study',
            name='k',
        ),
        migrations.RemoveField(
            model_name='study',
            name='method',
        ),
        migrations.RemoveField(
            model_name='study',
            name='model',
        ),
        migrations.RemoveField(
            model_name='study',
            name='n',
        ),
        migrations.RemoveField(
            model_name='study',
            name='options',
        ),
        migrations.RemoveField(
            model_name='study',
            name='preset',
        ),
        migrations.RemoveField(
            model_name='study',
            name='task',
        ),
        migrations.RemoveField(
            model_name='study',
            name='token_budget',
        ),
        migrations.RemoveField(
            model_name='study',
            name='vision',
        ),
        migrations.AlterField(
            model_name='study',
            name='open_link',
            field=models.CharField(default=webapp.studies.models.new_token, editable=False, max_length=64, unique=True),
        ),
    ]
