"""The kinds of items, in the order in which the builder offers them."""

from __future__ import annotations

from webapp.studies.questionnaires.kind import ItemKind
from webapp.studies.questionnaires.kinds import grid, long_text, multiple, number, scale, section, short_text, single

KINDS: dict[str, ItemKind] = {
    module.KIND.name: module.KIND for module in (single, multiple, scale, grid, number, short_text, long_text, section)
}
