import django.core.validators
import django.db.models.deletion
import webapp.experiments.models
import webapp.studies.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0004_budgets'),
        ('studies', '0004_budgets'),
    ]

    operations = [
        migrations.AddField(
            model_name='participant',
            name='attempts',
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='participant',
            name='debriefed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='participant',
            name='deleted_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='participant',
            name='outcome',
            field=models.CharField(blank=True, choices=[('finished', 'Finished'), ('withdrawn', 'Left the study'), ('not_eligible', 'Did not agree, or the study was full'), ('failed', 'Did not pass the comprehension check')], editable=False, max_length=12),
        ),
        migrations.AddField(
            model_name='participant',
            name='practised_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='participant',
            name='source',
            field=models.CharField(choices=[('link', 'Personal link'), ('open link', 'Open link'), ('recruitment', 'Recruitment site')], default='link', editable=False, max_length=12),
        ),
        migrations.AddField(
            model_name='participant',
            name='timezone',
            field=models.CharField(blank=True, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name='participant',
            name='understood_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='assignment',
            field=models.CharField(choices=[('balanced', 'Balanced: the arm with the fewest people, ties drawn from the seed'), ('seeded', 'Seeded: drawn from the seed for each person by themselves'), ('by hand', 'By hand: on the page of each arm, before the person comes')], default='balanced', max_length=10),
        ),
        migrations.AddField(
            model_name='study',
            name='closed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='closes_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='debriefing',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='study',
            name='deleted_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='description',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='study',
            name='ethics_expires_on',
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='ethics_protocol',
            field=models.CharField(blank=True, max_length=120),
        ),
        migrations.AddField(
            model_name='study',
            name='experiments_each',
            field=models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='experiments each'),
        ),
        migrations.AddField(
            model_name='study',
            name='instructions',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='study',
            name='most_attempts',
            field=models.PositiveSmallIntegerField(default=2, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='attempts'),
        ),
        migrations.AddField(
            model_name='study',
            name='notify_email',
            field=models.BooleanField(default=False, verbose_name='by e-mail'),
        ),
        migrations.AddField(
            model_name='study',
            name='notify_push',
            field=models.BooleanField(default=False, verbose_name='by browser notification'),
        ),
        migrations.AddField(
            model_name='study',
            name='open_link',
            field=models.CharField(default=webapp.studies.models.new_token, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name='study',
            name='opens_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='parameter_person',
            field=models.CharField(default='PROLIFIC_PID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')]),
        ),
        migrations.AddField(
            model_name='study',
            name='parameter_session',
            field=models.CharField(default='SESSION_ID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')]),
        ),
        migrations.AddField(
            model_name='study',
            name='parameter_study',
            field=models.CharField(default='STUDY_ID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')]),
        ),
        migrations.AddField(
            model_name='study',
            name='practice',
            field=models.BooleanField(default=False, verbose_name='practice trial'),
        ),
        migrations.AddField(
            model_name='study',
            name='quota',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AddField(
            model_name='study',
            name='recruiting',
            field=models.BooleanField(default=False, verbose_name='open link'),
        ),
        migrations.AddField(
            model_name='study',
            name='retention_days',
            field=models.PositiveIntegerField(blank=True, default=3650, null=True),
        ),
        migrations.CreateModel(
            name='Arm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=webapp.experiments.models.task_choices, default='Ant', max_length=40)),
                ('method', models.CharField(choices=webapp.experiments.models.method_choices, default='icpl', max_length=40)),
                ('judge', models.CharField(choices=[('human', 'A person'), ('proxy', 'The hidden metric (proxy)'), ('model', 'A language model')], default='human', max_length=10)),
                ('k', models.PositiveSmallIntegerField(default=6, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(32)], verbose_name='candidates per iteration (K)')),
                ('n', models.PositiveSmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='iterations (N)')),
                ('preset', models.CharField(choices=[('quick', 'Quick: two CPU cores'), ('paper', 'Paper: the published settings')], default='quick', max_length=10)),
                ('token_budget', models.PositiveBigIntegerField(blank=True, help_text='Read and written, at most, in one experiment; then it waits for a higher budget. Empty: no limit.', null=True, verbose_name='tokens')),
                ('dollar_budget', models.FloatField(blank=True, help_text='The same in money, as far as the prices are known. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='US dollars')),
                ('options', models.JSONField(blank=True, default=dict, verbose_name="method's options")),
                ('judge_options', models.JSONField(blank=True, default=dict, verbose_name="judge's options")),
                ('name', models.CharField(default='A', max_length=40)),
                ('position', models.PositiveSmallIntegerField(default=0)),
                ('quota', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('panel', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='people per experiment')),
                ('describer', models.ForeignKey(blank=True, help_text='Who puts differences into words; a cheaper model will do. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('judge_model', models.ForeignKey(blank=True, help_text='Who judges where a language model does. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('model', models.ForeignKey(blank=True, help_text='Who writes the rewards. Empty: the offline writer.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='arms', to='studies.study')),
                ('vision', models.ForeignKey(blank=True, help_text='Who looks at frames of the clips, for the methods that ask for that.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
            ],
            options={
                'ordering': ['position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField(default=1)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('arm', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='studies.arm')),
                ('experiment', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='experiments.experiment')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='studies.participant')),
            ],
            options={
                'ordering': ['position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='CompletionCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(choices=[('finished', 'Finished'), ('withdrawn', 'Left the study'), ('not_eligible', 'Did not agree, or the study was full'), ('failed', 'Did not pass the comprehension check')], default='finished', max_length=12)),
                ('code', models.CharField(max_length=40)),
                ('url', models.CharField(blank=True, help_text='The page of the recruitment site that takes the code. Empty: the code alone is shown.', max_length=300, validators=[django.core.validators.URLValidator(['https', 'http'])], verbose_name='send them to')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='codes', to='studies.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=20)),
                ('text', models.TextField()),
                ('hash', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_texts', to='studies.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField(default=0)),
                ('text', models.CharField(max_length=300, verbose_name='question')),
                ('answers', models.TextField(help_text='One a line, two at least.')),
                ('correct', models.PositiveSmallIntegerField(default=1, help_text='Its number, from 1.', verbose_name='correct answer')),
                ('explanation', models.CharField(blank=True, help_text='Shown to somebody who chose another, before the next attempt.', max_length=500)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='studies.study')),
            ],
            options={
                'ordering': ['position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Recruit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.CharField(max_length=100)),
                ('parameters', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='recruit', to='studies.participant')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recruits', to='studies.study')),
            ],
        ),
        migrations.AddConstraint(
            model_name='arm',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='one_arm_per_name'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(fields=('participant', 'position'), name='one_assignment_per_position'),
        ),
        migrations.AddConstraint(
            model_name='completioncode',
            constraint=models.UniqueConstraint(fields=('study', 'outcome'), name='one_code_per_outcome'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'hash'), name='one_consent_text_per_hash'),
        ),
        migrations.AddConstraint(
            model_name='recruit',
            constraint=models.UniqueConstraint(fields=('study', 'external_id'), name='one_recruit_per_id'),
        ),
    ]
