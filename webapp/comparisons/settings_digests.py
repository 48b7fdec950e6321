"""Digests of presets and human-written rewards: what they are called in the ids of a comparison's experiments."""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from llm.records import format_canonical
from simulation import catalog
from simulation.catalog import AnyPreset

FIRST = Path(__file__).with_name("first_settings.json")
"""The digests that version 0.1.0 had: settings that are still so make the ids that they made then. And the default of
each field of a preset; a field that is added later is entered with its first default.
"""

BLOCK_ENDS = {tokenize.INDENT: "{", tokenize.DEDENT: "}"}


def list_changed() -> dict[str, str]:
    """The digest of each preset ("preset Ant quick") and human-written reward ("reward Ant") that is not as version
    0.1.0 had it.
    """
    first = _read_first("digests")
    return {name: digest for name, digest in list_digests().items() if first.get(name) != digest}


def list_digests() -> dict[str, str]:
    """The digests of all tasks, also of a site's own tasks."""
    found: dict[str, str] = {}
    for name, info in catalog.list_tasks().items():
        found |= {f"preset {name} {preset}": digest_preset(values) for preset, values in info.presets.items()}
        found[f"reward {name}"] = digest_reward(catalog.read_reference_reward(name))
    return found


def digest_preset(preset: AnyPreset) -> str:
    """A field with its first default does not count, so that a later version may add one."""
    defaults = _read_first("defaults")[preset.algorithm]
    named = {field.name: getattr(preset, field.name) for field in fields(preset)}
    given = {name: value for name, value in named.items() if name not in defaults or value != defaults[name]}
    return _hash_text(format_canonical([preset.algorithm, given]))


@cache
def digest_reward(source: str) -> str:
    """Comments, empty lines and spaces do not count, except in what is no Python. Its syntax tree is not used: each
    version of Python writes that otherwise.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.strip() + "\n").readline))
    except (tokenize.TokenError, SyntaxError):  # of a task of one's own
        return _hash_text(source)
    counted = (one for one in tokens if one.type not in (tokenize.COMMENT, tokenize.NL))
    return _hash_text("".join(BLOCK_ENDS.get(one.type, one.string) for one in counted))


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _read_first(part: str) -> dict[str, Any]:
    return dict(json.loads(FIRST.read_text())[part])
