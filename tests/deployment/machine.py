"""A Debian in a folder, in namespaces of its own, that runs containers without a registry: podman, docker-compose.

What it took on a small virtual machine: no control groups, modest limits of open files and processes, no CNI
configuration, and a network namespace, so that podman's firewall rules stay in it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.upgrades.checkouts import copy_checkout, read_number

HERE = Path(__file__).parent
PACKAGES = "podman buildah crun netavark aardvark-dns iptables iproute2 ca-certificates"
NEWER = "trixie"
"""The Debian that has docker-compose 2; older ones have version 1."""
CONTAINERS = """\
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
[network]
network_backend = "netavark"
"""
BUILD = "buildah bud --layers --isolation chroot --network host --build-arg BASE=localhost/base"
STAND_INS = ("postgres", "redis", "caddy", "seaweedfs")
COMPOSE = (
    "docker-compose --project-directory /src -f /src/docker-compose.yml -f /src/tests/deployment/stand_ins/compose.yml"
)
CHECK_HEALTH = """while :; do
  for name in $(podman ps --format '{{.Names}}'); do timeout 60 podman healthcheck run "$name" >/dev/null 2>&1; done
  sleep 2
done"""
"""Podman leaves this to systemd."""


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}"
    return done.stdout


def read_mirror() -> str:
    """The address from which this machine's own packages come."""
    policy = run(["apt-cache", "policy", "base-files"])
    return re.search(r"https?://\S+/debian\b", policy).group()


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.base, self.source = folder, folder / "root", folder / "base", folder / "source"
        self.namespaces: tuple[str, ...] = ()

    # --- once ---------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """The base of all images, and the same with podman."""
        release = platform.freedesktop_os_release()["VERSION_CODENAME"]
        run(["debootstrap", "--variant=minbase", "--include=ca-certificates", release, str(self.base)])
        certificates = "etc/ssl/certs/ca-certificates.crt"
        shutil.copy(f"/{certificates}", self.base / certificates)
        (self.base / "etc/pip.conf").write_text(
            f"[global]\nfind-links = {os.environ.get('PIP_FIND_LINKS', '')}\ncert = /{certificates}\n"
        )
        run(["cp", "-a", str(self.base), str(self.root)])
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        self.change_root("apt-get update -qq && apt-get install -y -qq --no-install-recommends " + PACKAGES)
        shutil.rmtree(self.root / "etc/cni", ignore_errors=True)
        (self.root / "etc/containers/containers.conf").write_text(CONTAINERS)
        source = f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {read_mirror()} {NEWER} main"
        self.change_root(
            f"cd /tmp && echo '{source}' >newer.list"
            " && mkdir -p lists/partial"
            ' && options="-o Dir::Etc::sourcelist=/tmp/newer.list -o Dir::Etc::sourceparts=-"'
            ' && options="$options -o Dir::State::lists=/tmp/lists"'
            " && apt-get $options update -qq && apt-get $options download docker-compose"
            " && dpkg-deb -x docker-compose_*.deb compose"
            " && install $(find compose -name docker-compose -type f -size +1M) /usr/local/bin/"
        )
        (self.root / "src").mkdir()

    def change_root(self, script: str) -> None:
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        run(["chroot", str(self.root), "sh", "-euc", script], env=environment)

    def copy_source(self) -> None:
        """The checkout, and what the images of other programs need."""
        copy_checkout(self.source)
        run(["chmod", "-R", "go-rwx", str(self.source)])  # as under umask 077
        stand_ins = self.source / "tests/deployment/stand_ins"
        for name in ("caddy", "weed"):
            shutil.copy(Path(sys.executable).with_name(name), stand_ins / name)
        run(["chmod", "-R", "a+rX", str(stand_ins)])

    def build(self) -> None:
        """All images, while the network is still that of this machine."""
        steps = [
            "podman image exists localhost/base || tar -C /base -c . | podman import - localhost/base",
            self.describe_build(),
            *(
                f"{BUILD} --target {name} -t localhost/stand-in-{name} -f Containerfile /src/tests/deployment/stand_ins"
                for name in STAND_INS
            ),
        ]
        (self.root / "base").mkdir(exist_ok=True)
        command = f"mount --bind {self.base} {self.root}/base && exec sh {HERE}/enter.sh {self.root} {self.source} "
        script = " && ".join(steps).replace("'", "'\\''")
        run(["unshare", "--mount", "--pid", "--fork", "sh", "-euc", f"{command} sh -euc '{script}'"])

    def describe_build(self) -> str:
        """The command that builds our image of the checkout as it is."""
        torch = Path(sys.prefix, ".prefine-torch-args")
        arguments = torch.read_text() if torch.exists() else ""
        wheels = [folder for folder in os.environ.get("PIP_FIND_LINKS", "").split() if Path(folder).is_dir()]
        options = [f"--volume {folder}:{folder}:ro" for folder in wheels]
        options += [f'--build-arg PREFINE_TORCH_ARGS="{arguments}"', f"-t localhost/prefine:{read_number(self.source)}"]
        return f"{BUILD} {' '.join(options)} /src"

    # --- running ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def start(self) -> Iterator[None]:
        """A running machine without any network but its own loopback."""
        service = ["podman", "system", "service", "--time=0", "unix:///run/podman.sock"]
        enter = ["sh", str(HERE / "enter.sh"), str(self.root), str(self.source)]
        new = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--kill-child"]
        with (self.folder / "podman.log").open("wb") as log:
            process = subprocess.Popen([*new, *enter, *service], stdout=log, stderr=log)
            try:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                while not children.read_text():
                    time.sleep(0.1)
                first = children.read_text().split()[0]
                self.namespaces = ("nsenter", "--target", first, "--net")
                self.inside = (*self.namespaces, "--mount", "--pid", "--ipc", "--uts")
                while not Path(f"/proc/{first}/root/run/podman.sock").exists():
                    assert process.poll() is None, (self.folder / "podman.log").read_text()
                    time.sleep(0.1)
                watcher = subprocess.Popen([*self.inside, "sh", "-c", CHECK_HEALTH])
                yield
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
        watcher.wait()

    def call(self, *command: str) -> str:
        environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        return run([*self.inside, *command], env=environment | {"DOCKER_HOST": "unix:///run/podman.sock"})

    def shell(self, script: str) -> str:
        return self.call("sh", "-euc", script)

    def compose(self, arguments: str) -> str:
        """What fails shows the log of `migrate`, too: other services wait for it."""
        log = "podman logs --tail 40 prefine-migrate-1 >&2"
        return self.shell(f"cd /src && {COMPOSE} {arguments} || {{ {log}; exit 1; }}")
