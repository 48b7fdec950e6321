import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('archive', '0001_initial'),
        ('archive', '0002_redaction'),
    ]

    initial = True

    dependencies = [
        ('experiments', '0001_squashed_0007_patience'),
        ('studies', '0001_squashed_0011_outcome_stopped'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cause', models.CharField(choices=[('wish', 'The person wished it'), ('retention', 'The retention period was over')], max_length=9)),
                ('people', models.PositiveIntegerField()),
                ('counts', models.JSONField(default=dict)),
                ('aggregate', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasures', to='studies.study')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('by', models.CharField(max_length=150)),
                ('status', models.CharField(choices=[('queued', 'Waiting for a worker'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='queued', max_length=8)),
                ('owner', models.CharField(blank=True, max_length=160)),
                ('heartbeat', models.DateTimeField(null=True)),
                ('rung_at', models.DateTimeField(null=True)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('fraction', models.FloatField(default=0)),
                ('words', models.CharField(blank=True, max_length=200)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('clips', models.BooleanField(default=True)),
                ('checkpoints', models.BooleanField(default=False)),
                ('fresh_labels', models.BooleanField(default=False)),
                ('size', models.PositiveBigIntegerField(default=0)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to='studies.study')),
            ],
            options={
                'ordering': ['-id'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('by', models.CharField(max_length=150)),
                ('status', models.CharField(choices=[('queued', 'Waiting for a worker'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='queued', max_length=8)),
                ('owner', models.CharField(blank=True, max_length=160)),
                ('heartbeat', models.DateTimeField(null=True)),
                ('rung_at', models.DateTimeField(null=True)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('fraction', models.FloatField(default=0)),
                ('words', models.CharField(blank=True, max_length=200)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('name', models.CharField(max_length=200)),
                ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='studies.study')),
            ],
            options={
                'ordering': ['-id'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Imported',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('experiment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='imported', to='experiments.experiment')),
            ],
        ),
        migrations.CreateModel(
            name='Origin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('versions', models.JSONField(default=dict)),
                ('audit', models.JSONField(default=list)),
                ('changed', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='origin', to='studies.study')),
            ],
        ),
        migrations.CreateModel(
            name='Redaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reasons', models.JSONField(default=list)),
                ('labels', models.JSONField(default=list)),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.experiment')),
            ],
        ),
    ]
