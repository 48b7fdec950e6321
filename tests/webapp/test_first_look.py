"""What a slow line shows first: one answer holds the page and its style, compressed, and the policy allows no other."""

import base64
import gzip
import hashlib
import re

import pytest
from django.urls import reverse

from tests.webapp import poll_rows, rows

pytestmark = pytest.mark.django_db


def addresses():
    yield "/"
    yield rows.participant().get_absolute_url()
    yield poll_rows.evaluator(poll_rows.poll()).get_absolute_url()
    yield reverse("studio", args=["leads-nowhere"])


def test_nothing_holds_up_the_first_look(client):
    for address in addresses():
        response = client.get(address)
        html = response.content.decode()
        head = html.partition("</head>")[0]
        assert '<link rel="stylesheet"' not in head
        assert all(" defer" in script for script in re.findall(r"<script[^>]*>", html))
        styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles]
        assert styles and all(f"'sha256-{digest}'" in response["Content-Security-Policy"] for digest in digests)
        assert "unsafe" not in response["Content-Security-Policy"]


def test_a_page_is_compressed_for_browsers_that_say_so(client):
    address = rows.participant().get_absolute_url()
    plain = client.get(address)
    packed = client.get(address, headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in plain and packed["Content-Encoding"] == "gzip"
    assert len(packed.content) < len(plain.content) / 3
    assert b"<h1>" in gzip.decompress(packed.content)
