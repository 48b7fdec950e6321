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
from tests.upgrades.checkouts import NEWER, become_newer
from tests.webapp.servers import ROOT, wait_for

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(3 * 3600)]  # the first one builds all images
SITE = "https://localhost"
OURS = ("web", "worker-llm", "worker-train", "worker-film", "reaper", "backup")
WORKERS = 5
RUNNING = {*OURS, "proxy", "postgres", "redis", "store"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A machine with a checkout and the images."""
    for program in ("debootstrap", "unshare", "nsenter"):
        assert shutil.which(program), f"{program} is missing: ./prefine test --all installs what the tests need"
    folder = Path(tempfile.mkdtemp(prefix="prefine-machine-"))
    try:
        made = Machine(folder)
        for step in (made.install, made.copy_source, made.build):
            begun = time.monotonic()
            step()
            print(f"{step.__name__} took {time.monotonic() - begun:.0f} s")
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


def test_the_administrator_signs_in_and_sees_every_worker(site: Machine) -> None:
    rows = read_workers(site)
    assert len(rows) == WORKERS and all("idle" in row and "other" not in row for row in rows)


def read_workers(site: Machine) -> list[str]:
    """The page of workers: the rows of those that have not ended."""
    password = (site.source / "secrets/admin_password").read_text().strip()
    script = [
        sys.executable,
        "-m",
        "tests.deployment.administrator",
        SITE,
        str(site.folder / "administrator"),
        password,
    ]
    rows = json.loads(subprocess.check_output([*site.namespaces, *script], cwd=ROOT, text=True))
    return [row for row in rows if "stopped" not in row and "silent" not in row]


def test_the_doctor_finds_nothing_wrong(site: Machine) -> None:
    said = site.shell("podman exec prefine-web-1 ./prefine doctor || true")
    wrong = [line for line in said.splitlines() if line.startswith(("fail", "warn"))]
    assert [line.split()[:2] for line in wrong] == [["fail", "address"]], "inside it, localhost is another machine"


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


class Walker:
    """A person who takes part in the small demonstration, in a real browser (walk.py)."""

    def __init__(self, site: Machine) -> None:
        command = [*site.namespaces, sys.executable, "-m", "tests.deployment.walk", SITE]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )

    def wait_for(self, line: str) -> None:
        """What the person says next."""
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said == f"{line}\n", said + self._process.stdout.read()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def person(site: Machine) -> Iterator[Walker]:
    site.shell("podman exec prefine-web-1 python manage.py demonstration")
    walker = Walker(site)
    yield walker
    walker.end()


def ask_database(site: Machine, query: str) -> list[str]:
    sql = f'PGPASSWORD=$(cat $POSTGRES_PASSWORD_FILE) psql -U prefine -Atc "{query}"'
    return site.call("podman", "exec", "prefine-postgres-1", "sh", "-c", sql).splitlines()


def find_trainer(site: Machine) -> str:
    """The container whose worker trains now; empty: none."""
    ask = "select split_part(owner, '/', 1) from experiments_job where kind = 'train' and status = 'running'"
    hosts = ask_database(site, ask)
    named = {one["Config"]["Hostname"]: name for name, one in list_containers(site).items()}
    return named.get(hosts[0], "") if hosts else ""


def count_votes(site: Machine) -> int:
    return int(ask_database(site, "select count(*) from review_vote where undone_at is null")[0])


def test_a_person_votes_while_a_worker_dies(site: Machine, person: Walker) -> None:
    """A round is voted, a second training worker is added, the one that trains the next round is killed."""
    person.wait_for("voted 1")
    site.compose("up --no-build --detach --no-recreate --scale worker-train=2")
    wait_for(lambda: find_trainer(site), "the second training", 300)
    killed = find_trainer(site)
    assert killed.startswith("worker-train-")
    site.shell(f"podman kill --signal KILL prefine-{killed}")
    person.wait_for("chosen 2")


def test_films_are_in_the_store_and_on_no_workers_disk(site: Machine) -> None:
    films = int(ask_database(site, "select count(*) from experiments_clip where status = 'ready'")[0])
    code = "from webapp.base.store import store; print(sum(key.endswith('.mp4') for key in store.keys('clips')))"
    shell = ("podman", "exec", "prefine-web-1", "python", "manage.py", "shell", "-v0", "-c")
    assert films == int(site.call(*shell, code)) > 6
    for name in list_containers(site):
        if name.startswith(("web-", "worker-")):
            assert site.shell(f"podman exec prefine-{name} find /data -name '*.mp4'") == "", name


def test_an_open_page_goes_on_after_everything_was_lost_and_restored(site: Machine, person: Walker) -> None:
    """As docs/deployment.md says, after database and store were thrown away."""
    site.compose("exec -T backup ./prefine backup /backups/prefine-drill.zip")
    site.compose("cp backup:/backups ./backups")
    assert (site.source / "backups/prefine-drill.zip").stat().st_size > 100_000
    site.compose("rm --stop --force --volumes")
    site.shell("podman volume rm prefine_database prefine_objects")
    site.compose("run --rm backup ./prefine restore /backups/prefine-drill.zip --overwrite")
    site.compose("up --no-build --detach --wait")
    assert count_votes(site) == 1
    person.go_on()
    person.wait_for("voted 2")
    assert count_votes(site) == 2
    person.wait_for("chosen 3")


class Probe:
    """Somebody who asks for the home page through the proxy, again and again, during a `with` block."""

    def __init__(self, site: Machine) -> None:
        said = "%{http_code} %{time_total} %{errormsg}"
        ask = f"curl --silent --insecure --output /dev/null --write-out '{said}' --max-time 30 {SITE}/"
        command = f'while :; do printf "%s %s\\n" "$({ask})" "$(date +%T.%N)"; sleep 0.2; done'
        self._command = [*site.namespaces, "sh", "-c", command]
        self.answers: list[str] = []
        self.slowest = 0.0

    def __enter__(self) -> Probe:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *reason: object) -> None:
        self._process.kill()
        lines = self._process.communicate()[0].splitlines()
        self.answers = [line.split()[0] for line in lines]
        self.failed = [line for line in lines if not line.startswith("200")]
        self.slowest = max(float(line.split()[1]) for line in lines)


def test_an_upgrade_is_rolling(site: Machine, person: Walker) -> None:
    """As docs/upgrading.md says: a newer version beside this one, and no page is refused meanwhile."""
    become_newer(site.source)
    site.shell(site.describe_build())
    with Probe(site) as probe:
        old = site.compose("ps --quiet web").strip()
        site.compose("up --no-build --detach migrate")
        site.compose("up --no-build --detach --wait --no-recreate --scale web=2 web")
        site.shell(f"podman stop --time 10 {old} && podman rm {old}")
        during = read_workers(site)
        proxy = site.compose("ps --quiet proxy")
        site.compose("up --no-build --detach --wait")
        assert site.compose("ps --quiet proxy") == proxy, "else no page is answered for a while"
    assert len(during) == WORKERS and all("cannot take new work" in row and NEWER not in row for row in during)
    after = read_workers(site)
    assert len(after) == WORKERS and all("idle" in row and NEWER in row for row in after)
    print(*probe.failed, site.shell("podman events --stream=false --since 5m"), sep="\n")  # shown where it fails
    assert set(probe.answers) == {"200"} and len(probe.answers) > 20
    print(f"{len(probe.answers)} pages during the upgrade, the slowest after {probe.slowest:.1f} s")
    person.go_on()
    person.wait_for("voted 3")
    person.wait_for("done")


def test_personal_links_stay_out_of_the_proxys_log(site: Machine) -> None:
    web = site.compose("ps --quiet web").strip()
    site.shell(f"podman stop --time 5 {web}")
    status, text = fetch(site, f"{SITE}/s/a-personal-link/", "--insecure", "--header", f"Referer: {SITE}/s/a-link/")
    assert status == 503 and "This page tries again by itself" in text
    log = site.shell("podman logs prefine-proxy-1 2>&1")
    assert "personal-link" not in log and "a-link" not in log
    site.shell(f"podman start {web}")
