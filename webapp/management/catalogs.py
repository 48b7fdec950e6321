"""Translations: find every string of participants' pages, write the catalogs in locale/, compile them.

Babel does the files, so that nobody needs GNU gettext; it is among the tests' requirements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.extract import extract_javascript
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.template.base import Node, Template
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import to_locale

from simulation import catalog as tasks

ROOT = Path(settings.BASE_DIR)
PACKAGES = ("webapp",)
TEMPLATES = ("studio", "notices", "404.html", "500.html", "503.html", "403_csrf.html")
SCRIPTS = ROOT / "static" / "studio"
FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "pgettext", "npgettext"}
PLACEHOLDER = re.compile(r"%\(\w+\)s|</?[a-z]+[^>]*>")
CREATED_AT = datetime(2026, 11, 23, tzinfo=UTC)
"""Fixed, so that a catalog changes only with its strings."""
DOMAINS = ("django", "djangojs")
Found = tuple[str, "str | tuple[str, str]", str]
"""Context (may be empty), text or (singular, plural), and the file that has it."""


def extract(domain: str) -> Catalog:
    """Every string to be translated: of pages and mails, or of their scripts."""
    found = list(_read_scripts()) if domain == "djangojs" else [*_read_python(), *_read_templates(), *_read_tasks()]
    catalog = Catalog(project="Prefine", charset="utf-8", fuzzy=False, creation_date=CREATED_AT)
    for context, text, file in found:
        flags = ["python-format"] if "%(" in str(text) else []
        catalog.add(text, locations=[(file, 0)], context=context or None, flags=flags)
    return catalog


def _read_python() -> Iterator[Found]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            if "django.utils.translation" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                    yield from _read_call(node, node.func.id, str(path.relative_to(ROOT)))


def _read_call(call: ast.Call, name: str, file: str) -> Iterator[Found]:
    words = [row.value for row in call.args if isinstance(row, ast.Constant) and isinstance(row.value, str)]
    context = words.pop(0) if name in ("pgettext", "npgettext") and words else ""
    if name in ("ngettext", "npgettext") and len(words) == 2:
        yield context, (words[0], words[1]), file
    elif name not in ("ngettext", "npgettext") and words:
        yield context, words[0], file


def _read_templates() -> Iterator[Found]:
    folder = ROOT / "templates"
    for name in TEMPLATES:
        files = sorted((folder / name).rglob("*")) if (folder / name).is_dir() else [folder / name]
        for path in files:
            if path.is_file():
                file = str(path.relative_to(folder))
                template = Template(path.read_text())
                yield from _read_nodes(template, f"templates/{file}")


def _read_nodes(template: Template, file: str) -> Iterator[Found]:
    """Django's own nodes say which text they look up."""
    for node in template.nodelist.get_nodes_by_type(Node):
        if isinstance(node, TranslateNode):
            literal = getattr(node.filter_expression.var, "literal", None)
            if isinstance(literal, str):
                yield _read_context(node), str(literal).replace("%", "%%"), file
        elif isinstance(node, BlockTranslateNode):
            singular = node.render_token_list(node.singular)[0]
            plural = node.render_token_list(node.plural)[0] if node.plural else ""
            yield _read_context(node), (singular, plural) if plural else singular, file


def _read_context(node: TranslateNode | BlockTranslateNode) -> str:
    return str(node.message_context.var) if node.message_context else ""


def _read_tasks() -> Iterator[Found]:
    """The sentences, questions and reasons of the tasks, which know no Django."""
    for name, info in tasks.list_tasks().items():
        for text in (info.sentence, info.question, *info.reasons_best, *info.reasons_worst):
            yield "", text, f"simulation/tasks: {name}"


def _read_scripts() -> Iterator[Found]:
    for path in sorted(SCRIPTS.glob("*.js")):
        with path.open("rb") as file:
            rows = list(extract_javascript(file, {"gettext": None, "ngettext": None}, [], {"encoding": "utf-8"}))
        for _, name, words, _ in rows:
            texts = [word for word in (words if isinstance(words, (tuple, list)) else [words]) if word]
            if name == "ngettext" and len(texts) == 2:
                yield "", (texts[0], texts[1]), str(path.relative_to(ROOT))
            elif name == "gettext" and texts:
                yield "", texts[0], str(path.relative_to(ROOT))


def list_locales() -> list[str]:
    """The folders of the languages that need a catalog: all but English."""
    return [to_locale(code) for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def find_file(locale: str, domain: str) -> Path:
    return ROOT / "locale" / locale / "LC_MESSAGES" / f"{domain}.po"


def read(locale: str, domain: str) -> Catalog:
    path = find_file(locale, domain)
    if not path.exists():
        return Catalog(locale=locale, project="Prefine", charset="utf-8", fuzzy=False, creation_date=CREATED_AT)
    with path.open("rb") as file:
        return read_po(file, locale=locale)


def update(locale: str, domain: str, template: Catalog) -> Catalog:
    """The catalog with today's strings: new ones are empty, those that are gone are dropped."""
    before = read(locale, domain)
    now = Catalog(locale=locale, project="Prefine", charset="utf-8", fuzzy=False, creation_date=CREATED_AT)
    for message in template:
        if message.id:
            kept = before.get(message.id, message.context)
            string = kept.string if kept and kept.id == message.id else None
            now.add(message.id, string, message.locations, message.flags, context=message.context)
    return now


def write(locale: str, domain: str, catalog: Catalog) -> None:
    path = find_file(locale, domain)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=110, omit_header=False, sort_output=True, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalog)


def list_missing(catalog: Catalog) -> list[str]:
    """The strings that have no whole translation, or one with other placeholders."""
    return [str(message.id) for message in catalog if message.id and find_fault(message, catalog.num_plurals)]


def find_fault(message: Message, forms: int) -> str:
    """What is wrong with a translation; empty if nothing is."""
    texts = [text or "" for text in (message.string if isinstance(message.string, (tuple, list)) else [message.string])]
    if message.fuzzy:
        return "it is marked as fuzzy"
    if len(texts) != (forms if message.pluralizable else 1) or not all(texts):
        return "it is not translated in every form"
    said = message.id if isinstance(message.id, (tuple, list)) else (message.id,)
    allowed = find_placeholders(said[-1])
    if find_placeholders(texts[-1]) != allowed:
        return "it has other placeholders"
    if any(not find_placeholders(text) <= allowed for text in texts):
        return "one of its forms has other placeholders"
    return ""


def find_placeholders(text: str) -> set[str]:
    """Placeholders and tags of HTML: translations keep them."""
    return set(PLACEHOLDER.findall(text))
