"""docker-compose.yml, really started: image built, all services healthy, a study taken part in while workers die.

Docker itself and the official images are not there: podman and docker-compose 2 run the same programs (stand_ins/).
It needs root on Debian, 10 GB of disk, and Debian's and Python's package archives.
"""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.machine import Machine
from tests.webapp.servers import ROOT, wait_for

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(3600)]
SITE = "https://localhost"
OURS = ("web", "worker-llm", "worker-train", "worker-film", "reaper", "backup")
RUNNING = {*OURS, "proxy", "postgres", "redis", "store"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A machine with a checkout and the images."""
    for program in ("debootstrap", "unshare", "nsenter"):
        assert shutil.which(program), f"{program} is missing: ./prefine test --all installs what the tests need"
    folder = Path(tempfile.mkdtemp(prefix="prefine-machine-"))
    try:
        made = Machine(folder)
        made.install()
        made.copy_source()
        made.build()
        with made.start():
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def site(machine: Machine) -> Machine:
    """As README.md says, with one training worker."""
    machine.shell("cd /src && sh compose/setup.sh localhost lab@prefine.test")
    machine.shell("cd /src && sed -i s/PREFINE_CPU_TRAINERS=2/PREFINE_CPU_TRAINERS=1/ .env")
    begun = time.monotonic()
    machine.compose("up --no-build --detach --wait")
    print(f"all services were healthy after {time.monotonic() - begun:.0f} s")
    return machine


def list_containers(machine: Machine) -> dict[str, dict]:
    """What `inspect` shows of each running container, by its name without the project."""
    listed = json.loads(machine.shell("podman inspect $(podman ps --quiet)"))
    return {container["Name"].removeprefix("prefine-"): container for container in listed}


def fetch(machine: Machine, address: str, *options: str) -> tuple[int, str]:
    """An answer of the proxy."""
    marked = machine_call(machine, "curl", "--silent", "--write-out", "\n%{http_code}", *options, address)
    text, _, status = marked.rpartition("\n")
    return int(status), text


def machine_call(machine: Machine, *command: str) -> str:
    """Run a program of this machine in the network of that one."""
    return subprocess.check_output([*machine.namespaces, *command], text=True)


def test_every_service_is_healthy(site: Machine) -> None:
    containers = list_containers(site)
    assert {name.rpartition("-")[0] for name in containers} == RUNNING
    assert {name: one["State"]["Health"]["Status"] for name, one in containers.items()} == dict.fromkeys(
        containers, "healthy"
    )
    assert fetch(site, f"{SITE}/health/ready", "--insecure")[0] == 200


def test_tls_is_verified_and_http_is_redirected(site: Machine, tmp_path: Path) -> None:
    root = tmp_path / "root.crt"
    root.write_text(site.shell("podman exec prefine-proxy-1 cat /data/caddy/pki/authorities/local/root.crt"))
    ssl.create_default_context(cafile=str(root))
    assert fetch(site, SITE, "--cacert", str(root))[0] == 200
    assert fetch(site, "http://localhost/s/x/", "--head")[0] == 308


def test_no_secret_can_be_read_from_outside(site: Machine) -> None:
    shown = site.shell("podman inspect $(podman ps --all --quiet); podman image inspect $(podman images --quiet)")
    secrets = [path.read_text().strip() for path in (site.source / "secrets").iterdir()]
    assert [secret for secret in secrets if secret and secret in shown] == []
    held = site.shell("podman exec prefine-web-1 sh -c 'ls -A /opt/prefine; env'")
    assert not {".env", "secrets", ".git", "var", "tests"} & set(held.split())
    assert [secret for secret in secrets if secret and secret in held] == []


@pytest.mark.parametrize("service", [*OURS, "postgres", "redis", "store", "proxy"])
def test_a_container_is_confined(site: Machine, service: str) -> None:
    look = "cat /proc/1/status /proc/net/route; touch /opt/x /usr/x && echo WRITTEN; true"
    seen = site.shell(f"podman exec prefine-{service}-1 sh -c '{look}' 2>&1")
    status = dict(line.split(":\t", 1) for line in seen.splitlines() if ":\t" in line)
    assert "WRITTEN" not in seen and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    if service == "proxy":
        assert int(status["CapEff"], 16) in (0, 1 << 10)
        return
    assert int(status["CapEff"], 16) == 0 and status["Uid"].split()[0] != "0"
    leads_out = any(line.split()[1:2] == ["00000000"] for line in seen.splitlines())
    assert leads_out == (service in ("web", "worker-llm", "reaper")), "a way to other machines"


def test_the_jail_is_whole_inside_a_container(site: Machine) -> None:
    check = "python -m trainer.commands.check --task Cartpole simulation/tasks/cartpole/reference.py"
    verdict = json.loads(site.shell(f"podman exec prefine-worker-train-1 {check}"))
    assert verdict["ok"] and verdict["notes"] == [], "Landlock and seccomp under the default profile"


def find_trainer(site: Machine) -> str:
    """The container whose worker trains now; empty: none."""
    ask = "select split_part(owner, '/', 1) from experiments_job where kind = 'train' and status = 'running'"
    sql = f'PGPASSWORD=$(cat $POSTGRES_PASSWORD_FILE) psql -U prefine -Atc "{ask}"'
    machine_name = site.call("podman", "exec", "prefine-postgres-1", "sh", "-c", sql).strip()
    named = {one["Config"]["Hostname"]: name for name, one in list_containers(site).items()}
    return named.get(machine_name.splitlines()[0], "") if machine_name else ""


def test_a_person_votes_while_a_worker_dies(site: Machine) -> None:
    """A round is voted, a second training worker is added, the one that trains the next round is killed."""
    site.shell("podman exec prefine-web-1 python manage.py demonstration")
    command = [*site.namespaces, sys.executable, "-m", "tests.deployment.walk", SITE]
    person = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert person.stdout is not None
    said = [person.stdout.readline() for _ in range(2)]
    assert said[-1] == "voted 1\n", said + [person.stdout.read()]
    site.compose("up --no-build --detach --no-recreate --scale worker-train=2")
    wait_for(lambda: find_trainer(site), "the second training", 300)
    killed = find_trainer(site)
    assert killed.startswith("worker-train-")
    site.shell(f"podman kill --signal KILL prefine-{killed}")
    rest = person.stdout.read()
    assert person.wait() == 0 and "voted 2\ndone\n" in rest, rest


def test_personal_links_stay_out_of_the_proxys_log(site: Machine) -> None:
    site.shell("podman stop --time 5 prefine-web-1")
    status, text = fetch(site, f"{SITE}/s/a-personal-link/", "--insecure", "--header", f"Referer: {SITE}/s/a-link/")
    assert status == 503 and "reload" in text
    log = site.shell("podman logs prefine-proxy-1 2>&1")
    assert "personal-link" not in log and "a-link" not in log
    site.shell("podman start prefine-web-1")
