"""What an experimenter should know before a study opens for the first time; some of it they must confirm."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from llm.methods import METHODS
from llm.records import format_canonical
from llm.repetition_check import find_equal_flows
from webapp.experiments import loop
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.problems import lookup
from webapp.studies.assigning import PLAN
from webapp.studies.models import Arm, Outcome, Study
from webapp.studies.models.languages import list_languages
from webapp.studies.texts.localizing import read_translations
from webapp.studies.texts.registry import list_texts
from webapp.studies.texts.texts import count_translated

MUST_CONFIRM = ("writer", "address")
"""Names of the cautions without whose confirmation a study does not open."""


@dataclass(frozen=True)
class Caution:
    name: str
    text: str

    @property
    def must_confirm(self) -> bool:
        return self.name in MUST_CONFIRM


def list_cautions(study: Study, address: str) -> list[Caution]:
    """The cautions of a draft whose links begin with this address; none for a demonstration."""
    if study.demonstration or study.status != Study.Status.DRAFT:
        return []
    arms = [Caution("arms", text) for text in describe_equal_arms(study)]
    texts = [*_check_codes(study), *_check_practice(study), *_check_languages(study)]
    return [*_check_writer(study), *_check_address(address), *arms, *_check_starts(study), *texts]


def find_unconfirmed(study: Study, address: str, confirmed: Collection[str]) -> list[str]:
    """The texts of the cautions that must be confirmed and are not among these names."""
    cautions = list_cautions(study, address)
    return [caution.text for caution in cautions if caution.must_confirm and caution.name not in confirmed]


def describe_equal_arms(study: Study) -> list[str]:
    """A warning for each group of arms that have the same settings, or whose methods ask for the same throughout."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, *settings in study.arms.values_list("name", *PLAN, "panel", "overlap"):
        alike[format_canonical(settings)].append(name)
    groups = [names for names in alike.values() if len(names) > 1]
    return [
        *(f"Arms {_join(names)} have the same settings: only chance makes their results differ." for names in groups),
        *_describe_equal_flows(study, groups),
    ]


def _describe_equal_flows(study: Study, known: list[list[str]]) -> Iterator[str]:
    """Arms that differ in nothing but their methods, where these ask for exactly the same."""
    alike: dict[str, list[Arm]] = defaultdict(list)
    for arm in study.arms.all():
        others = [getattr(arm, f"{name}_id", getattr(arm, name)) for name in PLAN if name not in ("method", "options")]
        alike[format_canonical([*others, arm.panel])].append(arm)
    for arms in alike.values():
        if len(arms) < 2 or not lookup.task_exists(arms[0].task):
            continue
        flows = [(arm.method, arm.k, arm.n, arm.options) for arm in arms]
        for group in find_equal_flows(loop.describe_task(arms[0]), flows):
            names, arm = [arms[number].name for number in group], arms[group[0]]
            if names not in known:
                shape = f"{arm.rounds} round{'s' if arm.rounds > 1 else ''} of {arm.k} candidates"
                yield f"Arms {_join(names)} are equal here: in {shape} their methods ask for exactly the same."


def describe_differences(study: Study) -> list[tuple[str, list[tuple[str, str]]]]:
    """What differs between the arms, in words: each such setting with its value in each arm (name, value)."""
    arms = list(study.arms.select_related("model", "describer", "vision", "prompt_set"))
    found = []
    for name in (*PLAN, "panel", "overlap"):
        values = [_describe_setting(arm, name) for arm in arms]
        if len(set(values)) > 1:
            pairs = [(arm.name, value) for arm, value in zip(arms, values, strict=True)]
            found.append((SETTING_NAMES.get(name, name.replace("_", " ")), pairs))
    return found


SETTING_NAMES = {
    "k": "K",
    "n": "rounds",
    "model": "writer",
    "panel": "people per experiment",
    "overlap": "answers per pair",
    "training_start": "training starts from",
    "prompt_set": "prompts",
}


DESCRIBED: dict[str, Callable[[Arm], str]] = {
    "n": lambda arm: str(arm.rounds),
    "model": lambda arm: str(arm.model or "offline writer"),
    "method": lambda arm: arm.get_method_display(),
    "training_start": lambda arm: arm.get_training_start_display(),
    "shared_experience": lambda arm: "yes" if arm.shared_experience else "no",
    "prompt_set": lambda arm: str(arm.prompt_set or "as installed"),
}
"""Settings that are not described by their value alone."""


def _describe_setting(arm: Arm, name: str) -> str:
    if name in DESCRIBED:
        return DESCRIBED[name](arm)
    value = getattr(arm, name)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {value[key]}" for key in sorted(value)) or "as usual"
    return "none" if value is None else str(value)


def _join(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _check_writer(study: Study) -> Iterator[Caution]:
    writing = [arm for arm in study.arms.select_related("model") if arm.writes]
    arms = [arm.name for arm in writing if not arm.model or arm.model.is_offline]
    if arms:
        where = "every arm" if len(arms) == study.arms.count() else f"arm {', '.join(arms)}"
        text = f"In {where} the offline writer writes the rewards: a built-in program, not a language model."
        yield Caution("writer", text)


def _check_starts(study: Study) -> Iterator[Caution]:
    """Arms whose rounds know nothing of a judge by definition, and train on from what the judge liked."""
    starts = (TrainingStart.BEST, TrainingStart.BEST_SHORT)
    for arm in study.arms.filter(training_start__in=starts).order_by("position"):
        method = METHODS.get(arm.method)
        if method and not method.hears_judge and arm.rounds > 1:
            yield Caution(
                "starts",
                f"In arm {arm.name} each round trains on from the policy that people liked best in the round before: "
                f"their choices reach it, though not its prompts. {method.title} as published has nothing from them. "
                "For that, let all arms train from random weights, or from a policy that stays up.",
            )


def _check_address(address: str) -> Iterator[Caution]:
    host = urlsplit(address).hostname or ""
    way_out = "Set PREFINE_URL to the address that participants reach."
    if _is_loopback(host):
        text = f"Links begin with {address}, which leads to this machine: nobody elsewhere can open them. {way_out}"
        yield Caution("address", text)
    elif _is_local(host):
        text = f"Links begin with {address}: only people in your own network can open them. {way_out}"
        yield Caution("network", text)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".lan"))


def _check_codes(study: Study) -> Iterator[Caution]:
    having = set(study.codes.values_list("outcome", flat=True))
    missing = [str(label) for value, label in Outcome.choices if value not in having]
    if missing and (having or study.recruiting):
        listed = "; ".join(f"“{label}”" for label in missing)
        text = f"No completion code for {listed}. People who end so have nothing to hand in at the recruitment site."
        yield Caution("codes", text)


def _check_practice(study: Study) -> Iterator[Caution]:
    if not study.practice:
        text = "There is no practice round: people learn the page in the first round that counts."
        yield Caution("practice", text)


def _check_languages(study: Study) -> Iterator[Caution]:
    """Languages that are offered and in which some of the study's texts are not written."""
    texts, names = list_texts(study), dict(list_languages())
    for code in study.offered_languages[1:]:
        missing = len(texts) - count_translated(texts, read_translations(study, code))
        if missing:
            text = f"{names[code]} lacks {missing} of {len(texts)} texts: people read these as you wrote them."
            yield Caution("languages", text)
