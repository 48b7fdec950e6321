import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('comparisons', '0004_words_of_problems'),
        ('experiments', '0007_patience'),
    ]

    operations = [
        migrations.AddField(
            model_name='comparison',
            name='describer',
            field=models.ForeignKey(blank=True, help_text='Who puts differences into words; a cheaper model will do. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel'),
        ),
        migrations.AddField(
            model_name='comparison',
            name='judge_model',
            field=models.ForeignKey(blank=True, help_text='Who judges where a language model does. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel'),
        ),
    ]
