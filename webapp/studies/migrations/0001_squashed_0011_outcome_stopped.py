import django.core.validators
import django.db.models.deletion
import webapp.experiments.models.loop_settings
import webapp.studies.models.studies
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('studies', '0001_initial'),
        ('studies', '0002_participant_instructed_at'),
        ('studies', '0003_models_and_options'),
        ('studies', '0004_budgets'),
        ('studies', '0005_arms'),
        ('studies', '0006_move_to_arms'),
        ('studies', '0007_study_without_plan'),
        ('studies', '0008_preset_choices'),
        ('studies', '0009_parameter_required'),
        ('studies', '0010_code_addresses'),
        ('studies', '0011_outcome_stopped'),
    ]

    initial = True

    dependencies = [
        ('experiments', '0001_squashed_0007_patience'),
    ]

    operations = [
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(help_text='Participants see it on the consent page.', max_length=120)),
                ('status', models.CharField(choices=[('draft', 'Draft: links do not open yet'), ('open', 'Open'), ('closed', 'Closed: nobody new can begin')], default='draft', max_length=8)),
                ('demonstration', models.BooleanField(default=False, help_text='Anybody may start it from the home page.')),
                ('consent_text', models.TextField(help_text='Purpose, procedure, duration, risks, data kept and how long, voluntary, withdrawal. Plain text.')),
                ('consent_version', models.CharField(default='1', max_length=20)),
                ('contact', models.CharField(help_text='Whom a participant can write to; shown on every page.', max_length=200)),
                ('thanks_text', models.TextField(blank=True)),
                ('seed', models.PositiveIntegerField(default=0, help_text="Participants' experiments take seeds from here on.")),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.CharField(choices=[('balanced', 'Balanced: the arm with the fewest people, ties drawn from the seed'), ('seeded', 'Seeded: drawn from the seed for each person by themselves'), ('by hand', 'By hand: on the page of each arm, before the person comes')], default='balanced', max_length=10)),
                ('closed_at', models.DateTimeField(editable=False, null=True)),
                ('closes_at', models.DateTimeField(blank=True, null=True)),
                ('debriefing', models.TextField(blank=True)),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('description', models.TextField(blank=True)),
                ('ethics_expires_on', models.DateField(blank=True, null=True)),
                ('ethics_protocol', models.CharField(blank=True, max_length=120)),
                ('experiments_each', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='experiments each')),
                ('instructions', models.TextField(blank=True)),
                ('most_attempts', models.PositiveSmallIntegerField(default=2, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='attempts')),
                ('notify_email', models.BooleanField(default=False, verbose_name='by e-mail')),
                ('notify_push', models.BooleanField(default=False, verbose_name='by browser notification')),
                ('open_link', models.CharField(default=webapp.studies.models.studies.new_token, editable=False, max_length=64, unique=True)),
                ('opens_at', models.DateTimeField(blank=True, null=True)),
                ('parameter_person', models.CharField(default='PROLIFIC_PID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')])),
                ('parameter_session', models.CharField(default='SESSION_ID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')])),
                ('parameter_study', models.CharField(default='STUDY_ID', max_length=40, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9_.-]+$', 'Letters, digits, dots, dashes and underscores only.')])),
                ('practice', models.BooleanField(default=False, verbose_name='practice trial')),
                ('quota', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('recruiting', models.BooleanField(default=False, verbose_name='open link')),
                ('retention_days', models.PositiveIntegerField(blank=True, default=3650, null=True)),
                ('parameter_required', models.BooleanField(default=False, verbose_name='only with an id')),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Arm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=webapp.experiments.models.loop_settings.task_choices, default='Ant', max_length=40)),
                ('method', models.CharField(choices=webapp.experiments.models.loop_settings.method_choices, default='icpl', max_length=40)),
                ('judge', models.CharField(choices=[('human', 'A person'), ('proxy', 'The hidden metric (proxy)'), ('model', 'A language model')], default='human', max_length=10)),
                ('k', models.PositiveSmallIntegerField(default=6, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(32)], verbose_name='candidates per iteration (K)')),
                ('n', models.PositiveSmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='iterations (N)')),
                ('preset', models.CharField(choices=webapp.experiments.models.loop_settings.preset_choices, default='quick', max_length=10)),
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
                ('vision', models.ForeignKey(blank=True, help_text='Who looks at frames of the clips, for the methods that ask for that.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='arms', to='studies.study')),
            ],
            options={
                'ordering': ['position', 'pk'],
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
            name='Participant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, editable=False, max_length=64, unique=True)),
                ('label', models.CharField(help_text='A pseudonym for exports, for example P07.', max_length=40)),
                ('consented_at', models.DateTimeField(editable=False, null=True)),
                ('consent_version', models.CharField(blank=True, editable=False, max_length=20)),
                ('consent_hash', models.CharField(blank=True, editable=False, max_length=64)),
                ('withdrawn_at', models.DateTimeField(editable=False, null=True)),
                ('finished_at', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('instructed_at', models.DateTimeField(editable=False, null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('debriefed_at', models.DateTimeField(editable=False, null=True)),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('outcome', models.CharField(blank=True, choices=[('finished', 'Finished'), ('withdrawn', 'Left the study'), ('not_eligible', 'Did not agree, or the study was full'), ('failed', 'Did not pass the comprehension check'), ('stopped', 'Stopped: cancelled, or after a failure')], editable=False, max_length=12)),
                ('practised_at', models.DateTimeField(editable=False, null=True)),
                ('source', models.CharField(choices=[('link', 'Personal link'), ('open link', 'Open link'), ('recruitment', 'Recruitment site')], default='link', editable=False, max_length=12)),
                ('timezone', models.CharField(blank=True, editable=False, max_length=64)),
                ('understood_at', models.DateTimeField(editable=False, null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='studies.study')),
            ],
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
            name='CompletionCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(choices=[('finished', 'Finished'), ('withdrawn', 'Left the study'), ('not_eligible', 'Did not agree, or the study was full'), ('failed', 'Did not pass the comprehension check'), ('stopped', 'Stopped: cancelled, or after a failure')], default='finished', max_length=12)),
                ('code', models.CharField(max_length=40)),
                ('url', models.CharField(blank=True, help_text='The page of the recruitment site that takes the code. Empty: the code alone is shown.', max_length=300, validators=[django.core.validators.URLValidator(['https'], message='Give an address that begins with https://.')], verbose_name='send them to')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='codes', to='studies.study')),
            ],
            options={
                'ordering': ['pk'],
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
                'constraints': [models.UniqueConstraint(fields=('participant', 'position'), name='one_assignment_per_position')],
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
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'external_id'), name='one_recruit_per_id')],
            },
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.UniqueConstraint(fields=('study', 'label'), name='one_label_per_study'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'hash'), name='one_consent_text_per_hash'),
        ),
        migrations.AddConstraint(
            model_name='completioncode',
            constraint=models.UniqueConstraint(fields=('study', 'outcome'), name='one_code_per_outcome'),
        ),
        migrations.AddConstraint(
            model_name='arm',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='one_arm_per_name'),
        ),
    ]
