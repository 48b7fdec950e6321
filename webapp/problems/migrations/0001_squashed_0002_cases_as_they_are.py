import django.core.validators
import django.db.models.deletion
import webapp.problems.lines
import webapp.problems.models
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('problems', '0001_initial'),
        ('problems', '0002_cases_as_they_are'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Problem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='How the command line and exports call it, for example sum-of-digits.', max_length=40, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]+(-[a-z0-9]+)*$', 'Small letters, digits and single hyphens only.')])),
                ('title', models.CharField(help_text='Reviewers read it above the answers.', max_length=120)),
                ('subject', models.CharField(choices=[('mathematics', 'Mathematics'), ('physics', 'Physics'), ('programming', 'Programming'), ('other', 'Other')], default='mathematics', max_length=12)),
                ('form', models.CharField(choices=[('answer', 'A written answer'), ('program', 'A program')], default='answer', max_length=8, verbose_name='an answer is')),
                ('language', models.CharField(choices=[('cpp', 'C++17'), ('python', 'Python 3')], default='cpp', help_text='Of programs; written answers have none.', max_length=8)),
                ('statement', models.TextField(help_text='Markdown, with TeX between dollar signs.')),
                ('reference', models.TextField(blank=True, help_text='A solution for those who judge: Markdown with TeX. A model never sees it.')),
                ('answer', models.CharField(blank=True, help_text='What a right answer ends up with, in TeX. The proxy judge and scores go by it.', max_length=500, verbose_name='final answer')),
                ('tolerance', models.FloatField(default=0.0, help_text='Relative difference up to which two numbers are the same answer: 0.01 for one percent.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(0.5)])),
                ('cpu_seconds', models.FloatField(default=2.0, validators=[django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(60)], verbose_name='seconds a case')),
                ('memory_mb', models.PositiveIntegerField(default=256, validators=[django.core.validators.MinValueValidator(16), django.core.validators.MaxValueValidator(4096)], verbose_name='memory in MB')),
                ('show_reference', models.BooleanField(default=True, help_text='Off, where reviewers should judge unaided.', verbose_name='reviewers see the reference')),
                ('show_results', models.BooleanField(default=True, verbose_name='reviewers see test results')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['subject', 'name'],
            },
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(upload_to=webapp.problems.models.attachment_path)),
                ('name', models.CharField(blank=True, help_text="How people see it. Empty: the file's own name.", max_length=100)),
                ('caption', models.CharField(blank=True, max_length=300)),
                ('to_model', models.BooleanField(default=True, help_text='Pictures only; the model must take pictures.', verbose_name='the model sees it')),
                ('problem', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='problems.problem')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='TestCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subtask', models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)])),
                ('stdin', webapp.problems.lines.ExactTextField(blank=True, verbose_name='input')),
                ('expected', webapp.problems.lines.ExactTextField(blank=True, verbose_name='expected output')),
                ('problem', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='problems.problem')),
            ],
            options={
                'ordering': ['subtask', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Subtask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('points', models.FloatField(default=1.0, validators=[django.core.validators.MinValueValidator(0)])),
                ('problem', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='subtasks', to='problems.problem')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [models.UniqueConstraint(fields=('problem', 'number'), name='one_subtask_per_number')],
            },
        ),
    ]
