"""People who come by a study's open link, in a browser or from a recruitment site."""

from django.urls import reverse

PID = "5f3e9a1b2c4d5e6f7a8b9c0d"
CAME = {"PROLIFIC_PID": PID, "STUDY_ID": "study1", "SESSION_ID": "session1"}


def look(client, study, **query):
    return client.get(reverse("take", args=[study.open_link]), query)


def agree(client, study, query=None, **fields):
    address = reverse("take", args=[study.open_link]) + ("?" + "&".join(f"{k}={v}" for k, v in (query or {}).items()))
    return client.post(address, {"hash": study.consent_hash, "agree": "yes", **fields}, follow=True)


def text(response):
    return response.content.decode()
