import django.core.validators
import django.db.models.deletion
import uuid
import webapp.experiments.models.loop_settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('comparisons', '0001_comparisons'),
        ('comparisons', '0002_preset_choices'),
        ('comparisons', '0003_budgets'),
        ('comparisons', '0004_words_of_problems'),
        ('comparisons', '0005_judging_models'),
    ]

    initial = True

    dependencies = [
        ('experiments', '0001_squashed_0007_patience'),
    ]

    operations = [
        migrations.CreateModel(
            name='Comparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(blank=True, help_text='Empty: named after what is compared.', max_length=120)),
                ('tasks', models.JSONField()),
                ('methods', models.JSONField()),
                ('candidates', models.PositiveIntegerField(default=30, help_text='The budget: how many policies each experiment may train, or answers it may have.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='candidates per experiment')),
                ('experiments', models.PositiveSmallIntegerField(default=5, help_text='Repetitions with other seeds. Five against five can be significant, two against two cannot.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='experiments of each')),
                ('judge', models.CharField(choices=[('proxy', 'The hidden metric (proxy)'), ('model', 'A language model')], default='proxy', max_length=10)),
                ('judge_options', models.JSONField(blank=True, default=list)),
                ('preset', models.CharField(choices=webapp.experiments.models.loop_settings.preset_choices, default='quick', max_length=10)),
                ('iterations', models.PositiveIntegerField(blank=True, help_text="In place of the preset's. Empty: the preset's own.", null=True, verbose_name='training iterations')),
                ('seed', models.PositiveIntegerField(default=0, help_text='The other repetitions count on from it.', verbose_name='first seed')),
                ('label', models.CharField(blank=True, help_text='Experiments with the same settings that exist already are read, not run again. A label of your own runs everything again.', max_length=60)),
                ('status', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('paused', 'Paused'), ('cancelled', 'Cancelled'), ('finished', 'Finished'), ('failed', 'Ended with failures')], default='planned', editable=False, max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('dollar_budget', models.FloatField(blank=True, help_text='The same in money, as far as the prices are known. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='US dollars of each experiment')),
                ('token_budget', models.PositiveBigIntegerField(blank=True, help_text='Read and written, at most; then the experiment waits for a higher budget. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='tokens of each experiment')),
                ('describer', models.ForeignKey(blank=True, help_text='Who puts differences into words; a cheaper model will do. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('judge_model', models.ForeignKey(blank=True, help_text='Who judges where a language model does. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('model', models.ForeignKey(blank=True, help_text='Who writes the rewards, or answers. Empty: the offline writer, which solves no problems.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('vision', models.ForeignKey(blank=True, help_text='Who looks at clips, for the methods that ask for that.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
    ]
