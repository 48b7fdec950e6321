import django.core.validators
import django.db.models.deletion
import uuid
import webapp.experiments.models.loop_settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('experiments', '0001_initial'),
        ('experiments', '0002_initial'),
        ('experiments', '0003_models_and_options'),
        ('experiments', '0004_budgets'),
        ('experiments', '0005_people_by_assignment'),
        ('experiments', '0006_preset_choices'),
        ('experiments', '0007_patience'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='LanguageModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('kind', models.CharField(choices=[('offline', 'Offline writer (built in, not a language model)'), ('openai', 'OpenAI-compatible endpoint')], default='offline', max_length=10)),
                ('base_url', models.CharField(blank=True, help_text='For example https://api.openai.com/v1 or http://localhost:11434/v1.', max_length=200, validators=[django.core.validators.RegexValidator('^https?://[^\\s/]+', 'An address starts with http:// or https://.')])),
                ('model', models.CharField(blank=True, help_text="The model's name at that endpoint.", max_length=120)),
                ('api_key', models.CharField(blank=True, help_text='Kept on this server, never shown again.', max_length=300)),
                ('price_input', models.FloatField(blank=True, help_text='US dollars per million input tokens.', null=True)),
                ('price_output', models.FloatField(blank=True, help_text='US dollars per million output tokens.', null=True)),
                ('price_date', models.DateField(blank=True, help_text='The day these prices were read.', null=True)),
                ('concurrency', models.PositiveSmallIntegerField(blank=True, default=8, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(64)], verbose_name='requests at once')),
                ('context_tokens', models.PositiveIntegerField(blank=True, help_text='Tokens of a prompt and its answer together. A prompt that would not fit leaves its oldest history out and says so. Empty: unknown.', null=True, validators=[django.core.validators.MinValueValidator(4000)], verbose_name='context')),
                ('timeout', models.PositiveIntegerField(blank=True, default=300, help_text='Seconds of silence after which a request is given up and asked again. A model that thinks unseen is silent, and so is a server that cannot stream.', validators=[django.core.validators.MinValueValidator(10), django.core.validators.MaxValueValidator(3600)], verbose_name='patience')),
            ],
        ),
        migrations.CreateModel(
            name='Candidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveSmallIntegerField()),
                ('source', models.TextField()),
                ('status', models.CharField(choices=[('written', 'Written'), ('training', 'Training'), ('trained', 'Trained'), ('failed', 'Failed')], default='written', max_length=10)),
                ('reason', models.TextField(blank=True)),
                ('trace', models.JSONField(default=dict)),
                ('metric_trace', models.JSONField(default=dict)),
                ('rts', models.FloatField(null=True)),
                ('final_score', models.FloatField(null=True)),
                ('thought', models.TextField(blank=True)),
                ('parent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='experiments.candidate')),
            ],
            options={
                'ordering': ['iteration__number', 'index'],
            },
        ),
        migrations.CreateModel(
            name='Experiment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(choices=webapp.experiments.models.loop_settings.task_choices, default='Ant', max_length=40)),
                ('method', models.CharField(choices=webapp.experiments.models.loop_settings.method_choices, default='icpl', max_length=40)),
                ('judge', models.CharField(choices=[('human', 'A person'), ('proxy', 'The hidden metric (proxy)'), ('model', 'A language model')], default='human', max_length=10)),
                ('k', models.PositiveSmallIntegerField(default=6, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(32)], verbose_name='candidates per iteration (K)')),
                ('n', models.PositiveSmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='iterations (N)')),
                ('preset', models.CharField(choices=webapp.experiments.models.loop_settings.preset_choices, default='quick', max_length=10)),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('seed', models.PositiveIntegerField(default=0)),
                ('status', models.CharField(choices=[('draft', 'Not started'), ('running', 'Running'), ('waiting', 'Waiting for a person'), ('failed', 'Stopped by a failure'), ('cancelled', 'Cancelled'), ('finished', 'Finished')], default='draft', editable=False, max_length=10)),
                ('paused', models.BooleanField(default=False, editable=False)),
                ('error', models.TextField(blank=True, editable=False)),
                ('overrides', models.JSONField(default=dict, editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(editable=False, null=True)),
                ('finished_at', models.DateTimeField(editable=False, null=True)),
                ('judge_options', models.JSONField(blank=True, default=dict, verbose_name="judge's options")),
                ('options', models.JSONField(blank=True, default=dict, verbose_name="method's options")),
                ('dollar_budget', models.FloatField(blank=True, help_text='The same in money, as far as the prices are known. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='US dollars')),
                ('token_budget', models.PositiveBigIntegerField(blank=True, help_text='Read and written, at most, in one experiment; then it waits for a higher budget. Empty: no limit.', null=True, verbose_name='tokens')),
                ('winner', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('describer', models.ForeignKey(blank=True, help_text='Who puts differences into words; a cheaper model will do. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('judge_model', models.ForeignKey(blank=True, help_text='Who judges where a language model does. Empty: the one that writes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('model', models.ForeignKey(blank=True, help_text='Who writes the rewards. Empty: the offline writer.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
                ('vision', models.ForeignKey(blank=True, help_text='Who looks at frames of the clips, for the methods that ask for that.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.languagemodel')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=30)),
                ('public', models.BooleanField(default=False)),
                ('text', models.TextField(blank=True)),
                ('payload', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='experiments.experiment')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Iteration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('reason', models.TextField(blank=True)),
                ('tags', models.JSONField(default=list)),
                ('difference', models.TextField(blank=True)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('best', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='iterations', to='experiments.experiment')),
                ('worst', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
            ],
            options={
                'ordering': ['number'],
            },
        ),
        migrations.AddField(
            model_name='candidate',
            name='iteration',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='experiments.iteration'),
        ),
        migrations.CreateModel(
            name='Request',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('slot', models.PositiveSmallIntegerField(default=0)),
                ('kind', models.CharField(max_length=12)),
                ('fingerprint', models.CharField(max_length=64)),
                ('payload', models.JSONField()),
                ('status', models.CharField(choices=[('open', 'Open'), ('done', 'Done'), ('failed', 'Failed')], default='open', max_length=8)),
                ('result', models.JSONField(null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('pooled', models.JSONField(null=True)),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='requests', to='experiments.experiment')),
            ],
            options={
                'ordering': ['step', 'slot'],
            },
        ),
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=120)),
                ('request_hash', models.CharField(max_length=64)),
                ('seed', models.BigIntegerField()),
                ('data', models.JSONField()),
                ('prompt_tokens', models.PositiveIntegerField(null=True)),
                ('completion_tokens', models.PositiveIntegerField(null=True)),
                ('latency', models.FloatField(default=0)),
                ('cost', models.FloatField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='experiments.request')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('advance', 'Advance'), ('write', 'Write'), ('ask', 'Ask'), ('train', 'Train'), ('film', 'Film')], max_length=10)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], db_index=True, default='queued', max_length=10)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('owner', models.CharField(blank=True, max_length=160)),
                ('heartbeat', models.DateTimeField(null=True)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('strikes', models.PositiveSmallIntegerField(default=0)),
                ('reached', models.FloatField(default=0)),
                ('cancel', models.BooleanField(default=False)),
                ('rung_at', models.DateTimeField(null=True)),
                ('rings', models.PositiveSmallIntegerField(default=0)),
                ('progress', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='experiments.experiment')),
                ('request', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='experiments.request')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seconds', models.FloatField(default=0)),
                ('samples', models.BigIntegerField(default=0)),
                ('nan_worlds', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('request', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='run', to='experiments.request')),
            ],
        ),
        migrations.CreateModel(
            name='Clip',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('percent', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('pending', 'To be filmed'), ('ready', 'Ready'), ('failed', 'Could not be filmed')], default='pending', max_length=8)),
                ('name', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('candidate', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='clips', to='experiments.candidate')),
            ],
            options={
                'ordering': ['candidate', 'percent'],
                'constraints': [models.UniqueConstraint(fields=('candidate', 'percent'), name='one_clip_per_percent')],
            },
        ),
        migrations.AddConstraint(
            model_name='iteration',
            constraint=models.UniqueConstraint(fields=('experiment', 'number'), name='one_iteration_per_number'),
        ),
        migrations.AddConstraint(
            model_name='candidate',
            constraint=models.UniqueConstraint(fields=('iteration', 'index'), name='one_candidate_per_index'),
        ),
        migrations.AddConstraint(
            model_name='request',
            constraint=models.UniqueConstraint(fields=('experiment', 'step', 'slot'), name='one_request_per_step'),
        ),
        migrations.AddConstraint(
            model_name='modelcall',
            constraint=models.UniqueConstraint(fields=('request', 'request_hash', 'seed'), name='no_answer_is_bought_twice'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(fields=('request', 'kind', 'percent'), name='one_job_per_request'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'advance'), ('status', 'queued')), fields=('experiment',), name='one_queued_advance'),
        ),
    ]
