from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('experiments', '0004_budgets'),
        ('studies', '0006_move_to_arms'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='experiment',
            name='participant',
        ),
        migrations.AddField(
            model_name='request',
            name='pooled',
            field=models.JSONField(null=True),
        ),
    ]
