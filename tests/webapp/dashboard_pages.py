"""Addresses of an experiment's pages on the bench, and what they show."""

import re

from django.urls import reverse


def page(name, row, *args):
    return reverse(f"bench:{name}", args=[row.public_id, *args])


def html(answer):
    assert answer.status_code == 200
    return answer.content.decode()


def versions(text):
    return re.findall(r'id="([^"]+)" class="section" data-version="([^"]+)"', text)
