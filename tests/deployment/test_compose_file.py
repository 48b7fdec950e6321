"""docker-compose.yml, Dockerfile, Caddyfile and compose/setup.sh, without starting anything."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.webapp.servers import ROOT
from tests.webapp.test_settings import list_variables
from webapp.supervisor import list_programs

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("prefine:")}
ONCE = {"migrate"}
"""Services that end by themselves."""


def run_tool(name: str, *arguments: str, **environment: str) -> None:
    """A program that pip has put beside this Python."""
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_compose_file_follows_the_schema() -> None:
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


@pytest.mark.slow
def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    run_tool("hadolint", "Dockerfile")


@pytest.mark.slow
def test_caddy_accepts_its_file(tmp_path: Path) -> None:
    site = {"PREFINE_DOMAIN": "localhost", "PREFINE_EMAIL_FROM": "you@example.org", "HOME": str(tmp_path)}
    run_tool("caddy", "validate", "--config", "compose/Caddyfile", "--adapter", "caddyfile", **site)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined_limited_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["pids_limit"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] and service["logging"]["options"]["max-size"]
    assert service["restart"] == ("no" if name in ONCE else "unless-stopped")
    assert ("healthcheck" in service) == (name not in ONCE)
    assert set(service.get("cap_add", [])) <= {"NET_BIND_SERVICE"}
    assert name in OURS or re.fullmatch(r"\S+:[\d.]+\S*@sha256:[0-9a-f]{64}", service["image"]), "not pinned"


@pytest.mark.parametrize("name", SERVICES)
def test_no_secret_stands_in_the_environment(name: str) -> None:
    service = SERVICES[name]
    for variable, value in service.get("environment", {}).items():
        if variable.endswith("_FILE"):
            assert value.removeprefix("/run/secrets/") in service["secrets"], variable
        else:
            assert not re.search("SECRET|PASSWORD|KEY|TOKEN|DATABASE|BROKER|STORE|EMAIL_URL", variable), variable


def test_no_folder_is_shared() -> None:
    named = [
        volume.partition(":")[0] for one in SERVICES.values() for volume in one.get("volumes", []) if ":" in volume
    ]
    assert sorted(named) == ["./compose/Caddyfile", "backups", "certificates", "database", "objects"]
    assert all("/data" in service["volumes"] for service in OURS.values()), "a disk for each container alone"


def test_only_the_proxy_can_be_reached_and_generated_code_reaches_nothing() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    assert COMPOSE["networks"]["inside"]["internal"]
    for name in ("postgres", "redis", "store", "worker-train", "worker-train-gpu", "worker-film", "backup", "migrate"):
        assert SERVICES[name]["networks"] == ["inside"], name


def test_only_a_whole_backup_of_the_last_day_is_a_sign_of_health(tmp_path: Path) -> None:
    [_, command] = SERVICES["backup"]["healthcheck"]["test"]

    def is_healthy() -> bool:
        return not subprocess.run(["sh", "-c", command.replace("/backups", str(tmp_path))]).returncode

    (tmp_path / ".prefine-20261127-000000.zip.part").touch()
    assert not is_healthy()
    backup = tmp_path / "prefine-20261127-000000.zip"
    backup.touch()
    assert is_healthy()
    os.utime(backup, (time.time() - 27 * 3600,) * 2)
    assert not is_healthy()


def test_web_is_started_like_the_supervisor_starts_it() -> None:
    [web] = [program.command[1:] for program in list_programs("0.0.0.0", 8000) if program.name == "web"]
    [command] = re.findall(r"^CMD (\[.*?\])$", (ROOT / "Dockerfile").read_text().replace("\\\n", ""), re.MULTILINE)
    assert json.loads(command) == ["python", *web] and "command" not in SERVICES["web"]


def test_the_installer_finds_in_its_stage_what_it_runs() -> None:
    [stage] = re.findall(r"^FROM base AS packages$(.*?)^FROM ", (ROOT / "Dockerfile").read_text(), re.DOTALL | re.M)
    copied = {name for line in re.findall(r"^COPY (.+) \S+$", stage, re.M) for name in line.split()}
    [module] = re.findall(r"^has_libraries\(\).* -m (\S+)", (ROOT / "prefine").read_text(), re.M)
    assert copied >= {"prefine", "requirements.txt", "requirements-torch.txt", f"{module.replace('.', '/')}.py"}


def test_the_variables_of_env_are_those_of_the_compose_file() -> None:
    offered = re.findall(r"^(\w+)=", (ROOT / "compose/.env.example").read_text(), re.MULTILINE)
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert set(offered) == used | {"COMPOSE_PROFILES"} and len(offered) == 5
    documented = (ROOT / "docs/deployment.md").read_text()
    assert [name for name in offered if f"| `{name}` |" not in documented] == []


def test_the_compose_file_sets_nothing_that_is_not_read() -> None:
    given = {variable.removesuffix("_FILE") for service in OURS.values() for variable in service["environment"]}
    assert given <= list_variables()


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "compose", tmp_path / "compose")
    set_up(tmp_path, "prefine.test", "lab@prefine.test")
    return tmp_path


def set_up(folder: Path, *arguments: str) -> None:
    subprocess.run(["sh", "compose/setup.sh", *arguments], cwd=folder, check=True, capture_output=True)


def read_secrets(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text().strip() for path in (folder / "secrets").iterdir()}


def test_setup_writes_what_the_compose_file_reads(prepared: Path) -> None:
    secrets = read_secrets(prepared)
    assert {name: f"./secrets/{name}" for name in secrets} == {
        name: secret["file"] for name, secret in COMPOSE["secrets"].items()
    }
    assert secrets["postgres_password"] in secrets["database_url"]
    assert f":{secrets['redis.conf'].split()[1]}@redis" in secrets["broker_url"]
    [identity] = json.loads(secrets["store.json"])["identities"]
    [keys] = identity["credentials"]
    assert secrets["store_url"].startswith(f"s3://{keys['accessKey']}:{keys['secretKey']}@store:8333/")
    assert secrets["email_url"] == "" and len(set(secrets.values())) == len(secrets)
    assert (prepared / "secrets").stat().st_mode & 0o077 == 0, "others on this machine are kept out"
    assert "PREFINE_DOMAIN=prefine.test\nPREFINE_EMAIL_FROM=lab@prefine.test\n" in (prepared / ".env").read_text()


def test_setup_changes_nothing_the_second_time(prepared: Path) -> None:
    before = read_secrets(prepared), (prepared / ".env").read_text()
    set_up(prepared, "other.test", "other@prefine.test")
    assert (read_secrets(prepared), (prepared / ".env").read_text()) == before
