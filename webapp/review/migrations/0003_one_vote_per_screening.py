from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0005_people_by_assignment'),
        ('review', '0002_viewing_and_trials'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='vote',
            name='one_standing_vote',
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(condition=models.Q(('undone_at', None)), fields=('screening',), name='one_standing_vote'),
        ),
    ]
