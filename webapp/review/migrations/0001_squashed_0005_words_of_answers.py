import django.db.models.deletion
import webapp.studies.models.studies
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('review', '0001_initial'),
        ('review', '0002_viewing_and_trials'),
        ('review', '0003_one_vote_per_screening'),
        ('review', '0004_gold_sets_keep_their_films'),
        ('review', '0005_words_of_answers'),
    ]

    initial = True

    dependencies = [
        ('experiments', '0001_squashed_0007_patience'),
        ('studies', '0001_squashed_0011_outcome_stopped'),
    ]

    operations = [
        migrations.CreateModel(
            name='GoldSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('whole_round', models.BooleanField(default=False, help_text='Show the whole round, not only these two. Harder, and easier to dispute.')),
                ('best', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.candidate')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gold_sets', to='studies.study')),
                ('worst', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='experiments.candidate')),
            ],
        ),
        migrations.CreateModel(
            name='Screening',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('seed', models.PositiveBigIntegerField()),
                ('order', models.JSONField()),
                ('opened_at', models.DateTimeField(auto_now_add=True)),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='screenings', to='studies.participant')),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='screenings', to='experiments.request')),
            ],
        ),
        migrations.CreateModel(
            name='Trial',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('attention', 'Attention: the page says what to pick'), ('gold', 'Gold: best and worst are known'), ('repeated', 'Repeated: an earlier round again')], max_length=9)),
                ('number', models.PositiveSmallIntegerField()),
                ('round', models.PositiveSmallIntegerField()),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('seed', models.PositiveBigIntegerField()),
                ('order', models.JSONField()),
                ('cannot_tell', models.BooleanField(default=False)),
                ('broken', models.BooleanField(default=False)),
                ('client', models.JSONField(default=dict)),
                ('opened_at', models.DateTimeField(auto_now_add=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('best', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('expected_best', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('expected_worst', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trials', to='studies.participant')),
                ('repeats', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='repetitions', to='review.screening')),
                ('worst', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.candidate')),
            ],
        ),
        migrations.CreateModel(
            name='TrialPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attention', models.PositiveSmallIntegerField(default=0, help_text='Sets in which the page says what to pick. One or two show who does not read.')),
                ('gold', models.PositiveSmallIntegerField(default=0, help_text='Pairs or rounds whose best and worst you know: add them as gold sets.')),
                ('repeated', models.PositiveSmallIntegerField(default=0, help_text='Earlier rounds shown again in a new order. Two or more tell how consistent a person is.')),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='trial_plan', to='studies.study')),
            ],
        ),
        migrations.CreateModel(
            name='Viewing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sitting', models.CharField(max_length=16)),
                ('data', models.JSONField(default=dict)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('screening', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='viewings', to='review.screening')),
                ('trial', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='viewings', to='review.trial')),
            ],
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cannot_tell', models.BooleanField(default=False)),
                ('reason', models.TextField(blank=True, max_length=2000)),
                ('tags', models.JSONField(default=list)),
                ('client', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('undone_at', models.DateTimeField(null=True)),
                ('locked_at', models.DateTimeField(null=True)),
                ('broken', models.BooleanField(default=False)),
                ('best', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.candidate')),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='votes', to='experiments.request')),
                ('screening', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='votes', to='review.screening')),
                ('worst', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.candidate')),
            ],
        ),
        migrations.CreateModel(
            name='ClipTicket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=webapp.studies.models.studies.new_token, max_length=64, unique=True)),
                ('poster_size', models.PositiveBigIntegerField(default=0)),
                ('shown_in', models.CharField(blank=True, default='', max_length=64)),
                ('size', models.PositiveBigIntegerField(default=0)),
                ('clip', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='experiments.clip')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='studies.participant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('participant', 'clip', 'shown_in'), name='one_ticket_per_page')],
            },
        ),
        migrations.AddConstraint(
            model_name='screening',
            constraint=models.UniqueConstraint(fields=('request', 'participant'), name='one_screening_per_viewer'),
        ),
        migrations.AddConstraint(
            model_name='trial',
            constraint=models.UniqueConstraint(fields=('participant', 'number'), name='one_trial_per_number'),
        ),
        migrations.AddConstraint(
            model_name='viewing',
            constraint=models.CheckConstraint(condition=models.Q(('screening__isnull', True), ('trial__isnull', True), _connector='XOR'), name='viewing_of_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='viewing',
            constraint=models.UniqueConstraint(fields=('screening', 'sitting'), name='one_viewing_per_sitting'),
        ),
        migrations.AddConstraint(
            model_name='viewing',
            constraint=models.UniqueConstraint(fields=('trial', 'sitting'), name='one_trial_viewing_per_sitting'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at', None)), fields=('screening',), name='one_standing_vote'),
        ),
    ]
