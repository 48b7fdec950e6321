"""What logs and error reports say, in every process, and that no personal link gets into them."""

import contextlib
import gzip
import http.server
import json
import logging
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from django.core.handlers.base import BaseHandler
from django.urls import URLPattern, get_resolver

from tests.webapp.servers import ROOT, embedded, free_port, listening, static_files, wait_for
from trainer.log_lines import say
from webapp.base import logs
from webapp.experiments import execute
from webapp.experiments.execute.train import LogReader
from webapp.experiments.protocol import list_queues
from webapp.experiments.tasks import run_job

SECRET = "kF3-_zQ9tokentoken"


def list_addresses(patterns, prefix=""):
    for entry in patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route
        else:
            yield from list_addresses(entry.url_patterns, route)


def test_every_address_with_a_secret_is_known_to_the_logs():
    routes = [r for r in list_addresses(get_resolver().url_patterns) if "<str:token>" in r or "<str:link>" in r]
    assert len(routes) > 30
    for route in [*routes, "ws/s/<str:token>/"]:
        address = "/" + re.sub("<str:(token|link)>", SECRET, route).replace("<int:number>", "7")
        address = address.replace("<str:side>", "left")
        for line in (f'"GET {address}?PROLIFIC_PID=abc HTTP/1.1"', f"Not Found: {address}"):
            said = logs.hide_links(line)
            assert SECRET not in said and "PROLIFIC" not in said, route


@pytest.mark.parametrize("formatter", [logs.TextLines(), logs.JsonLines()])
def test_lines_name_request_and_job_and_hide_links(formatter):
    try:
        raise ValueError(f"https://prefine.example/s/{SECRET}/vote/ broke")
    except ValueError:
        record = logging.makeLogRecord(
            {"name": "django.request", "levelname": "ERROR", "msg": "failed: %s", "args": (f"/v/{SECRET}/",)}
            | {"exc_info": sys.exc_info(), "request": f"<GET /s/{SECRET}/>"}
        )
    with logs.note_context(request="4711abcd", job="12"):
        line = formatter.format(record)
    assert SECRET not in line and "/s/.../vote/ broke" in line and "4711abcd" in line
    if isinstance(formatter, logs.JsonLines):
        said = json.loads(line)
        assert (said["job"], said["request"], said["level"]) == ("12", "4711abcd", "ERROR")
        assert set(said) == {"level", "logger", "message", "process", "time", "exc_info", "request", "job"}


def test_a_response_bears_the_id_of_its_lines_and_no_visitors(client, db, settings):
    settings.PROXIES = 1
    mine = client.get("/", headers={"x-request-id": "from-a-visitor"})["X-Request-ID"]
    assert len(mine) == 16 and mine != client.get("/")["X-Request-ID"]


@pytest.mark.parametrize(
    ("address", "language", "words"),
    [
        (f"/s/{SECRET}/", "en", "please tell the people who run this site this number:"),
        (f"/s/{SECRET}/", "de", "die diese Website betreiben, bitte diese Nummer:"),
        ("/bench/", "de", "please tell the people who run this site this number:"),
    ],
)
def test_an_error_shows_the_number_under_which_the_log_has_it(admin_client, monkeypatch, address, language, words):
    lines, formatter = [], logs.TextLines()
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: lines.append(formatter.format(record)))
    monkeypatch.setattr(BaseHandler, "check_response", fail)  # called with what each view answers
    admin_client.raise_request_exception = False
    logging.getLogger("django.request").addHandler(handler)
    try:
        answer = admin_client.get(address, headers={"accept-language": language})
    finally:
        logging.getLogger("django.request").removeHandler(handler)
    number, page = answer["X-Request-ID"], answer.content.decode()
    assert answer.status_code == 500 and f"{words} <strong>{number}</strong>" in page
    assert f"[request={number}]" in lines[0] and "the page is broken" in lines[0]


def fail(*arguments, **named):
    raise RuntimeError("the page is broken")


def test_a_workers_log_takes_what_a_trainer_says_and_nothing_that_it_quotes(tmp_path, caplog):
    """A reward may quote what a person wrote, and no erasure reaches this log."""
    reader = LogReader(tmp_path / "log.txt")
    with (tmp_path / "log.txt").open("w") as file, contextlib.redirect_stdout(file):
        say("candidate 2 failed", "run: it limps\ntrainer: it limps")
        print("Traceback: # it limps")
    with caplog.at_level(logging.INFO):
        reader.relay()
    assert [record.getMessage() for record in caplog.records] == ["trainer: candidate 2 failed"]


@contextlib.contextmanager
def started(stack, tmp_path, name, *command, **environment):
    """The process; its lines lie in the file that is yielded."""
    path = tmp_path / f"{name}.log"
    with path.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=stack.environment | environment, stdout=file, stderr=file
        )
    try:
        yield path
    finally:
        process.terminate()
        process.wait(60)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


REQUEST_AND_JOB = """
from webapp.base import logs
from webapp.experiments import loop
from webapp.experiments.models import Experiment
with logs.note_context(request="the-request-1"):
    loop.start(Experiment.objects.create(name="one", task="Cartpole", judge="proxy", k=2, n=1))
"""


@pytest.mark.slow
def test_ids_go_from_the_request_through_the_worker(tmp_path):
    stack = embedded(tmp_path / "data")
    form = {"PREFINE_LOG_FORMAT": "json"}
    queues = ",".join(list_queues("llm"))
    worker = ["-m", "celery", "-A", "webapp.celery", "worker", "--pool", "solo", "--queues", queues]
    with started(stack, tmp_path, "worker", *worker, **form) as log:
        begin = "import django; django.setup()\n"
        environment = stack.environment | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
        wait_for(lambda: "ready" in log.read_text(), "the start of the worker")
        subprocess.run([sys.executable, "-c", begin + REQUEST_AND_JOB], cwd=ROOT, env=environment, check=True)
        wait_for(lambda: "begins" in log.read_text(), "the job")
        wait_for(lambda: log.read_text().count("succeeded in"), "its end")
    begun = [line for line in read_lines(log) if "advance begins" in line["message"]]
    assert begun[0]["request"] == "the-request-1" and begun[0]["job"] == "1"
    plain = [line for line in log.read_text().splitlines() if "webapp" in line and not line.startswith("{")]
    assert not [line for line in plain if "INFO" in line or "ERROR" in line], plain


def test_a_workers_log_of_an_unexpected_error_quotes_nobody(db, monkeypatch, caplog):
    """What the error says stands on the experiment's page, which an erasure reaches."""
    words = "as Ada wished"

    def fail(job_id):
        try:
            float(words)
        except ValueError as error:
            raise KeyError(words) from error

    monkeypatch.setattr(execute, "run_job", fail)
    with pytest.raises(KeyError):
        run_job.apply(args=[7]).get()
    assert "Task prefine.run_job[" in caplog.text and "KeyError" in caplog.text and "ValueError" in caplog.text
    assert "test_logs.py" in caplog.text and "raise KeyError(words)" in caplog.text and words not in caplog.text


BROKEN_PAGE = f"""
import sys
sys.argv = ["site"]
import django; django.setup()
from django.test import Client
from webapp.studio import views
def fail(request, token):
    person = "Ada Lovelace"
    raise RuntimeError("cannot read /s/" + token + "/")
import django.urls
from webapp.studio import urls
for pattern in urls.urlpatterns:
    if getattr(pattern, "name", "") == "studio":
        pattern.callback = fail
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
client.cookies["sessionid"] = "sessionsecret"
address = "/s/{SECRET}/?PROLIFIC_PID=person77"
answer = client.get(address, REMOTE_ADDR="192.0.2.77", headers={{"user-agent": "browser-of-ada"}})
assert answer.status_code == 500, answer.status_code
import logging, sentry_sdk
logging.getLogger("webapp.notices").error("no mail reached %s", "ada@personal.example")
try:
    raise ValueError("duplicate key value\\nDETAIL:  Key (email)=(eve@personal.example) already exists.")
except ValueError:
    logging.getLogger("webapp.notices").exception("a row was refused")
logging.getLogger("asyncio").error("said in another package")
sentry_sdk.flush(20)
"""


@pytest.mark.slow
def test_an_error_report_says_where_and_nobodys_data(tmp_path):
    received = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack = embedded(tmp_path)
    static_files(stack.data)
    environment = stack.environment | {
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "PREFINE_SENTRY_DSN": f"http://key@127.0.0.1:{server.server_port}/1",
    }
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_PAGE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    server.shutdown()
    server.server_close()
    assert done.returncode == 0, done.stderr
    sent = b"\n".join(received).decode()
    assert "no mail reached %s" in sent and "a row was refused" in sent
    assert "RuntimeError" in sent and "ValueError" in sent and '"lineno"' in sent and '"request"' in sent
    for hidden in (
        SECRET,
        "person77",
        "sessionsecret",
        "192.0.2.77",
        "browser-of-ada",
        "Ada Lovelace",
        "personal.example",
        "duplicate key",
        "cannot read",
        "said in another package",
    ):
        assert hidden not in sent, hidden
    assert "cannot read /s/.../" in done.stderr and SECRET not in done.stderr


@pytest.mark.slow
def test_a_web_process_logs_in_one_format_and_no_links(tmp_path):
    stack, port = embedded(tmp_path / "data"), free_port()
    static_files(stack.data)
    command = ["-m", "uvicorn", "webapp.asgi:application", "--port", str(port), "--lifespan", "off", "--no-access-log"]
    with started(stack, tmp_path, "web", *command, PREFINE_LOG_FORMAT="json") as log:
        wait_for(lambda: listening(port), "the start of the site")
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/s/{SECRET}/", timeout=30)
    text = log.read_text()
    at = text.find(SECRET)
    assert at < 0, text[at - 300 : at + 100]
    assert any(line["logger"] == "django.request" for line in read_lines(log)), text
    assert all(line.startswith(("{", "INFO:     Started server process")) for line in text.splitlines()), text
