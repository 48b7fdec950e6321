"""The studio's style sheets, inlined into its pages so that the first page needs one response.

The content security policy allows each by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

BUNDLES = {
    "studio": ("tokens.css", "studio/studio.css", "studio/steps.css", "studio/questions.css", "studio/tell.css"),
    "votes": ("studio/votes.css",),
    "pairs": ("studio/pairs.css",),
    "answers": ("studio/answers.css",),
}
"""All pages have the first; a page adds what it shows besides."""


@cache
def read_bundle(bundle: str) -> str:
    """The style sheets of a bundle as one text, minified."""
    text = "\n".join(Path(str(finders.find(name))).read_text() for name in BUNDLES[bundle])
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([{};,]) ?", r"\1", text).strip()


@cache
def list_hashes() -> tuple[str, ...]:
    """Sources for `style-src` in a content security policy."""
    return tuple(_hash_source(read_bundle(bundle)) for bundle in BUNDLES)


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
