from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("votes", "0008_single_items")]

    operations = [migrations.AlterModelOptions(name="poll", options={"ordering": ["-created_at"], "verbose_name": "vote"})]
