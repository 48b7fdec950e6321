import django.core.validators
import django.db.models.deletion
import uuid
import webapp.studies.models.studies
import webapp.votes.models
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('votes', '0001_initial'),
        ('votes', '0002_labels_given'),
        ('votes', '0003_pairs_of_answers'),
    ]

    initial = True

    dependencies = [
        ('experiments', '0001_squashed_0007_patience'),
    ]

    operations = [
        migrations.CreateModel(
            name='Poll',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('title', models.CharField(help_text='Evaluators read it. It must not name what is compared.', max_length=120)),
                ('question', models.CharField(default='Which robot does it better?', help_text='Asked above every pair, for example: Which robot runs better?', max_length=200)),
                ('instructions', models.TextField(help_text='What evaluators should look at, in plain words: the task and what counts. Plain text.')),
                ('evaluators_wanted', models.PositiveSmallIntegerField(default=20, help_text="The poll closes by itself when this many people have answered every pair. 20 as published; see the power table on the poll's page.", validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5000)], verbose_name='evaluators (N)')),
                ('allow_tie', models.BooleanField(default=False, help_text='Off: forced choice, as published. On: such answers are counted but take no part in the test.', verbose_name='offer “no difference”')),
                ('ask_strength', models.BooleanField(default=False, help_text='Slightly, clearly or much: described, not tested.', verbose_name='ask how much better')),
                ('alpha', models.FloatField(default=0.05, help_text='Of the whole poll: with several pairs the correction below keeps it. 0.05 is usual.', validators=[django.core.validators.MinValueValidator(0.0001), django.core.validators.MaxValueValidator(0.2)], verbose_name='significance level')),
                ('correction', models.CharField(choices=[('holm', 'Holm'), ('bonferroni', 'Bonferroni'), ('none', 'None')], default='holm', help_text='Of the p values where there are several pairs. Holm is never worse than Bonferroni.', max_length=10)),
                ('hypothesis', models.TextField(blank=True, help_text='What you expect and why, and which evaluators you will leave out: part of the fixed plan. Evaluators never see it.')),
                ('consent_text', models.TextField(help_text='Purpose, procedure, duration, risks, data kept and how long, voluntary, withdrawal. Plain text.')),
                ('consent_version', models.CharField(default='1', max_length=20)),
                ('contact', models.CharField(help_text='Whom an evaluator can write to; shown on every page.', max_length=200)),
                ('thanks_text', models.TextField(blank=True, help_text='Shown after the last pair. Empty: a plain thank you.')),
                ('completion_code', models.CharField(blank=True, help_text='Shown at the end, for a recruitment site. Empty: none.', max_length=40)),
                ('completion_url', models.CharField(blank=True, help_text="Where the last page's link leads back to, for example the address that Prolific gives you.", max_length=300, validators=[django.core.validators.URLValidator(['https', 'http'], message='An address starts with https://.')])),
                ('recruiting', models.BooleanField(default=False, help_text='One link for everybody, for Prolific and the like. Off: personal links alone, which guarantee one vote each.', verbose_name='open recruitment link')),
                ('recruitment_token', models.CharField(default=webapp.studies.models.studies.new_token, editable=False, max_length=64, unique=True)),
                ('seed', models.PositiveBigIntegerField(default=webapp.votes.models.new_seed, editable=False)),
                ('status', models.CharField(choices=[('draft', 'Draft: links do not open yet'), ('open', 'Open'), ('closed', 'Closed: no more votes, results can be seen')], default='draft', editable=False, max_length=8)),
                ('plan', models.TextField(blank=True, editable=False)),
                ('opened_at', models.DateTimeField(editable=False, null=True)),
                ('closed_at', models.DateTimeField(editable=False, null=True)),
                ('closed_by', models.CharField(blank=True, editable=False, max_length=150)),
                ('unblinded_at', models.DateTimeField(editable=False, null=True)),
                ('unblinded_by', models.CharField(blank=True, editable=False, max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('labels_given', models.PositiveIntegerField(default=0, editable=False)),
            ],
            options={
                'verbose_name': 'A/B vote',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Pair',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField(editable=False, verbose_name='number')),
                ('first_arm', models.CharField(blank=True, max_length=60)),
                ('second_arm', models.CharField(blank=True, max_length=60)),
                ('first_file', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('second_file', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('origin', models.JSONField(default=dict, editable=False)),
                ('answers', models.JSONField(default=dict, editable=False)),
                ('first', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.clip')),
                ('first_answer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('second', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.clip')),
                ('second_answer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('poll', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='votes.poll')),
            ],
            options={
                'ordering': ['position', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Evaluator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, editable=False, max_length=64, unique=True)),
                ('label', models.CharField(max_length=40)),
                ('external_id', models.CharField(blank=True, max_length=64)),
                ('slot', models.PositiveIntegerField(null=True)),
                ('consented_at', models.DateTimeField(null=True)),
                ('consent_version', models.CharField(blank=True, max_length=20)),
                ('consent_hash', models.CharField(blank=True, max_length=64)),
                ('finished_at', models.DateTimeField(null=True)),
                ('withdrawn_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('poll', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluators', to='votes.poll')),
            ],
        ),
        migrations.CreateModel(
            name='Showing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('first_left', models.BooleanField()),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('left_token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('right_token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('evaluator', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='showings', to='votes.evaluator')),
                ('pair', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='showings', to='votes.pair')),
            ],
            options={
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('choice', models.CharField(choices=[('left', 'Left'), ('right', 'Right'), ('same', 'Same')], max_length=5)),
                ('strength', models.PositiveSmallIntegerField(null=True)),
                ('client', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('showing', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='vote', to='votes.showing')),
            ],
        ),
        migrations.AddConstraint(
            model_name='pair',
            constraint=models.UniqueConstraint(fields=('poll', 'position'), name='one_pair_per_position'),
        ),
        migrations.AddConstraint(
            model_name='evaluator',
            constraint=models.UniqueConstraint(fields=('poll', 'label'), name='one_evaluator_label_per_poll'),
        ),
        migrations.AddConstraint(
            model_name='evaluator',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('poll', 'external_id'), name='one_evaluator_per_id'),
        ),
        migrations.AddConstraint(
            model_name='showing',
            constraint=models.UniqueConstraint(fields=('evaluator', 'pair'), name='one_showing_per_pair'),
        ),
        migrations.AddConstraint(
            model_name='showing',
            constraint=models.UniqueConstraint(fields=('evaluator', 'position'), name='one_showing_per_place'),
        ),
    ]
