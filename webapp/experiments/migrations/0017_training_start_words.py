from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0016_final_answers'),
    ]

    operations = [
        migrations.AlterField(
            model_name='experiment',
            name='training_start',
            field=models.CharField(choices=[('random', 'Random weights, as published'), ('upright', 'A policy that stays up'), ('best', "The last round's best policy")], db_default='random', default='random', max_length=10, verbose_name='training starts from'),
        ),
    ]
