import hashlib
import secrets

from django.db import migrations

PLAN = (
    *("task", "method", "options", "judge", "judge_options", "k", "n", "preset"),
    *("model_id", "describer_id", "judge_model_id", "vision_id", "token_budget", "dollar_budget"),
)


def to_arms(apps, schema_editor):
    """A study had one plan, and each of its people one experiment: now it has one arm, and they one assignment."""
    Study, Arm, Assignment = (apps.get_model("studies", name) for name in ("Study", "Arm", "Assignment"))
    for study in Study.objects.all():
        Arm.objects.create(study=study, name="A", **{name: getattr(study, name) for name in PLAN})
        Study.objects.filter(pk=study.pk).update(open_link=secrets.token_urlsafe(24))
    arms = {arm.study_id: arm for arm in Arm.objects.all()}
    Experiment = apps.get_model("experiments", "Experiment")
    for experiment in Experiment.objects.exclude(participant=None).select_related("participant"):
        person = experiment.participant
        Assignment.objects.create(participant=person, arm=arms[person.study_id], experiment=experiment, position=1)
    people = apps.get_model("studies", "Participant").objects
    people.filter(finished_at__isnull=False).update(outcome="finished")
    people.filter(withdrawn_at__isnull=False).update(outcome="withdrawn")


def keep_consent(apps, schema_editor):
    """The text as it stands, where it is what somebody agreed to. Those that were changed before were not kept."""
    ConsentText = apps.get_model("studies", "ConsentText")
    for person in apps.get_model("studies", "Participant").objects.exclude(consent_hash="").select_related("study"):
        study = person.study
        text = f"{study.consent_version}\n{study.consent_text}"
        if hashlib.sha256(text.encode()).hexdigest() == person.consent_hash:
            given = {"version": study.consent_version, "text": study.consent_text}
            ConsentText.objects.get_or_create(study=study, hash=person.consent_hash, defaults=given)


class Migration(migrations.Migration):

    dependencies = [
        ("studies", "0005_arms"),
    ]

    operations = [
        migrations.RunPython(to_arms),
        migrations.RunPython(keep_consent),
    ]
