"""Every setting, read from the environment in one place. A bad value fails loudly at start.

Two modes, one code: *embedded* (default: SQLite, filesystem broker, local media) and *production*
(PREFINE_DATABASE_URL and PREFINE_BROKER_URL point at PostgreSQL and Redis).
"""

from __future__ import annotations

import re
import secrets
import tomllib
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from environ import FileAwareEnv
from environ.fileaware_mapping import FileAwareMapping

from llm import prompts
from llm.errors import PromptError
from webapp.base import logs
from webapp.base.private_files import hide_from_others
from webapp.base.store_address import read_address

BASE_DIR = Path(__file__).resolve().parent.parent


class Environment(FileAwareMapping):  # type: ignore[misc]
    """The environment, where NAME_FILE names a file that holds NAME, so that no secret stands in the environment."""

    def __getitem__(self, key: str) -> str:
        return str(super().__getitem__(key)).rstrip("\n")


env = FileAwareEnv()
env.ENVIRON = Environment()
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]

DATA_DIR = Path(env.str("PREFINE_DATA", default=str(BASE_DIR / "var"))).resolve()
"""Everything Prefine writes: database, runs, media, broker, logs."""
try:
    STORE = read_address(_store) if (_store := env.str("PREFINE_STORE_URL", default="")) else None
except ValueError as error:
    raise ImproperlyConfigured(f"PREFINE_STORE_URL: {error}") from None
"""The bucket that holds the files which several processes need. None: the data folder."""
_scratch = env.str("PREFINE_SCRATCH", default=str(DATA_DIR / "scratch") if STORE else "")
SCRATCH = Path(_scratch).resolve() if _scratch else None
"""Where this machine trains: a folder on a disk of its own. None: `runs` in the data folder, where the store is."""
for folder in ("runs", "media", "broker", "log", "records", "static"):
    (DATA_DIR / folder).mkdir(parents=True, exist_ok=True)
hide_from_others(DATA_DIR, DATA_DIR / "db.sqlite3", DATA_DIR / "secret_key")


def _read_secret_key() -> str:
    """PREFINE_SECRET_KEY, or one drawn at the first start and kept in the data folder."""
    if key := env.str("PREFINE_SECRET_KEY", default=""):
        return str(key)
    path = DATA_DIR / "secret_key"
    if not path.exists() or not path.read_text():  # empty where the disk was full at the first start
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text()


SECRET_KEY = _read_secret_key()
try:
    prompts.read_own()
except PromptError as error:
    raise ImproperlyConfigured(str(error)) from None
ENCRYPTION_KEYS = [key.strip().rstrip("=") + "=" for key in env.list("PREFINE_ENCRYPTION_KEYS", default=[])]
"""Encrypt secrets in the database; without them a key is drawn and kept in the data folder (webapp/base/encryption.py).
"""
if not all(re.fullmatch(r"[\w-]{43}=", key, re.ASCII) for key in ENCRYPTION_KEYS):
    raise ImproperlyConfigured(
        "PREFINE_ENCRYPTION_KEYS must be keys of 32 random bytes in base64url, separated by commas"
    )
DEBUG = env.bool("PREFINE_DEBUG", default=False)
SITE_URL = env.str("PREFINE_URL", default="http://localhost:8000")
SECURE = SITE_URL.startswith("https://")
_site = urlsplit(SITE_URL)
if _site.scheme not in ("http", "https") or not _site.hostname:
    raise ImproperlyConfigured(f"PREFINE_URL must be http://... or https://..., not {SITE_URL!r}")
_host = f"[{_site.hostname}]" if ":" in _site.hostname else _site.hostname
ALLOWED_HOSTS = env.list("PREFINE_HOSTS", default=["*"] if DEBUG else ["localhost", "127.0.0.1", "[::1]", _host])
CSRF_TRUSTED_ORIGINS = env.list("PREFINE_ORIGINS", default=[f"{_site.scheme}://{_site.netloc}"])
"""Behind a proxy that ends TLS, forms come from https:// and arrive as http://."""

INSTALLED_APPS = [
    "webapp.bench.admin_config.SetUpConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "csp",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "webapp",
    "webapp.bench",
    "webapp.studio",
    "webapp.audit",
    "webapp.accounts",
    "webapp.problems",
    "webapp.experiments",
    "webapp.endpoints",
    "webapp.comparisons",
    "webapp.studies",
    "webapp.review",
    "webapp.votes",
    "webapp.notices",
    "webapp.archive",
]
MIDDLEWARE = [
    "webapp.probes.ProbeMiddleware",
    "webapp.base.request_log.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "webapp.base.static_files.StaticFiles",
    "webapp.base.compression.PageCompression",
    "webapp.base.csp.PolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "webapp.base.media_requests.MediaMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "webapp.studio.page_language.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.bench.audit.middleware.audit_middleware",
    "webapp.accounts.middleware.StaffMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "webapp.base.error_pages.AwayMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA_DIR / "db.sqlite3",
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
    "OPTIONS": {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
    },
}
_database: dict[str, Any] = env.db_url("PREFINE_DATABASE_URL") if "PREFINE_DATABASE_URL" in env.ENVIRON else SQLITE
if _database["ENGINE"].endswith("postgresql"):
    _database["OPTIONS"] = {
        "connect_timeout": 5,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        **_database.get("OPTIONS", {}),
    }
    """A server that cannot be reached any more is given up sooner than a lease ends; the address may name others."""
DATABASES = {"default": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True} | _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Messages only wake workers: losing all of them loses no work (docs/architecture.md).
CELERY_BROKER_URL = env.str("PREFINE_BROKER_URL", default="filesystem://")
if CELERY_BROKER_URL.startswith("filesystem://"):
    _queue = str(DATA_DIR / "broker")
    CELERY_BROKER_TRANSPORT = "webapp.base.folder_broker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": _queue,
        "data_folder_out": _queue,
        "control_folder": str(DATA_DIR / "broker" / "control"),
        "polling_interval": 0.2,
    }
elif CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "polling_interval": 2,  # seconds after which Redis answers "no message"
        "socket_timeout": 3,  # longer than that
        "socket_connect_timeout": 2,
        "health_check_interval": 10,
        "max_retries": 1,  # a page does not wait for a broker that is away; the reaper sends again
        "interval_start": 0,
    }
    CELERY_WORKER_DISABLE_PREFETCH = True
else:
    raise ImproperlyConfigured(f"PREFINE_BROKER_URL must be filesystem:// or redis://..., not {CELERY_BROKER_URL!r}")

CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("PREFINE_STATIC", default=str(DATA_DIR / "static")))
"""Where collectstatic writes; an image has its own folder, with everything in it."""
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "webapp.base.store.FieldStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_HTTPONLY = True
IDLE_HOURS = env.float("PREFINE_IDLE_HOURS", default=12.0)
"""Staff who did nothing for this long sign in again."""
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SECURE else 0
"""Browsers that were here once come by https only."""
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "media-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
"""No page runs inline scripts or asks another host; webapp/base/csp.py allows the studio's style sheets."""
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("zh-hans", "简体中文"),
    ("ja", "日本語"),
]
"""The languages of participants' pages, each by its own name; staff's pages are in English."""
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "webapp.bench.formats"
LANGUAGE_COOKIE_NAME = "prefine_language"
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "admin:login"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "webapp.accounts.passwords.NoNames"},
]
REQUIRE_2FA = env.bool("PREFINE_REQUIRE_2FA", default=False)
"""Staff must set up an authenticator app before they see anything. Set it on every site that others can reach."""
OTP_TOTP_ISSUER = f"Prefine {_site.hostname}"
PROXIES = env.int("PREFINE_PROXIES", default=0)
"""The number of proxies in front of the site, whose headers are then trusted (webapp/accounts/addresses.py)."""
if PROXIES < 0:
    raise ImproperlyConfigured(f"PREFINE_PROXIES must be 0 or the number of proxies, not {PROXIES}")
if PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
AXES_LOCKOUT_PARAMETERS = ["username", "ip_address"]
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = timedelta(minutes=10)
"""After this many wrong passwords or codes, signing in is closed for this long, for the account and for the address."""
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "webapp.accounts.addresses.read_client_address"
AXES_LOCKOUT_CALLABLE = "webapp.bench.account.lockout.respond_locked_out"
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True  # the audit log records sign-ins, without addresses
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

MODEL_BASE_URL = env.str("PREFINE_BASE_URL", default="")
MODEL_NAME = env.str("PREFINE_MODEL", default="")
"""An OpenAI-compatible endpoint that new experiments and studies use."""
MODEL_CONTEXT = env.int("PREFINE_CONTEXT", default=0)
"""Tokens that fit into that model's context; 0: not known."""
if MODEL_CONTEXT and MODEL_CONTEXT < 4000:
    raise ImproperlyConfigured(f"PREFINE_CONTEXT is a number of tokens, 4000 or more, not {MODEL_CONTEXT}")
API_KEY = env.str("PREFINE_API_KEY", default="")
"""The key of that endpoint alone."""
if bool(MODEL_BASE_URL) != bool(MODEL_NAME):
    raise ImproperlyConfigured("set PREFINE_BASE_URL and PREFINE_MODEL together, or neither")
try:
    DENIED_NETWORKS = [ip_network(text.strip()) for text in env.list("PREFINE_DENIED_NETWORKS", default=[])]
except ValueError as error:
    raise ImproperlyConfigured(f"PREFINE_DENIED_NETWORKS must be networks such as 10.0.0.0/8: {error}") from error
"""Where no model may be: webapp/endpoints/denied.py."""
LOCAL_MODEL = env.str("PREFINE_LOCAL_MODEL", default="")
"""A GGUF file: the local model that new experiments and studies use (requirements-local.txt, docs/models.md)."""
if LOCAL_MODEL and MODEL_BASE_URL:
    raise ImproperlyConfigured("set PREFINE_LOCAL_MODEL or PREFINE_BASE_URL, not both")
if LOCAL_MODEL and not Path(LOCAL_MODEL).is_file():
    raise ImproperlyConfigured(f"PREFINE_LOCAL_MODEL must name a GGUF file; there is no file {LOCAL_MODEL!r}")

try:
    LOGGING = logs.build_config(env.str("PREFINE_LOG_FORMAT", default="text"))
except ValueError as error:
    raise ImproperlyConfigured(f"PREFINE_LOG_FORMAT: {error}") from error
METRICS_KEY = env.str("PREFINE_METRICS_KEY", default="")
"""The key that readers of /metrics send as "Authorization: Bearer ..."; if it is empty, nobody may read them."""
SENTRY_DSN = env.str("PREFINE_SENTRY_DSN", default="")
"""Where errors are reported (webapp/error_reports.py); empty: nowhere."""

UNDO_SECONDS = env.int("PREFINE_UNDO_SECONDS", default=10)
"""How long a person may take back a confirmed choice."""
LEASE_SECONDS = env.int("PREFINE_LEASE_SECONDS", default=15)
"""A running job whose heartbeat is older than this is taken from its worker and queued again."""
ATTEMPTS = env.int("PREFINE_ATTEMPTS", default=3)
"""A step that fails this many times in a row without progress stops its experiment."""
FILM_AT = (10, 30, 100)
"""Percentages of the training after which clips are filmed; the last ones are judged."""

EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
if _mail := env.str("PREFINE_EMAIL_URL", default=""):
    if not _mail.startswith(("smtp://", "smtp+tls://", "smtp+ssl://", "consolemail://", "filemail:///")):
        raise ImproperlyConfigured(
            "PREFINE_EMAIL_URL must be smtp+tls://user:password@host:587, smtp:// or smtp+ssl://"
        )
    globals().update(env.email_url("PREFINE_EMAIL_URL"))
EMAIL_READY = EMAIL_BACKEND.endswith("smtp.EmailBackend")
"""Whether e-mail leaves this machine; participants are offered notices by e-mail only then."""
EMAIL_TIMEOUT = 10
CONTACT_EMAIL = env.str("PREFINE_EMAIL_FROM", default=f"prefine@{_site.hostname}")
"""The sender of messages, and the contact address for push services."""
DEFAULT_FROM_EMAIL = f"Prefine <{CONTACT_EMAIL}>"
MAIL_DOMAIN = CONTACT_EMAIL.rpartition("@")[2]
REMINDER_HOURS = env.int("PREFINE_REMINDER_HOURS", default=24)
"""A participant whose round has waited this long is reminded once, in the daytime. 0: never."""
PUSH_SERVICES = env.list(
    "PREFINE_PUSH_SERVICES",
    default=[
        "https://fcm.googleapis.com",
        "https://*.push.services.mozilla.com",
        "https://*.notify.windows.com",
        "https://*.push.apple.com",
    ],
)
"""The push services that browsers may name: this server sends to no other address that a visitor gives."""
VAPID_KEY = env.str("PREFINE_VAPID_KEY", default="")
"""Signs push notices: 32 random bytes in base64. Without it a key is drawn and kept in the data folder."""
ADMIN_PASSWORD = env.str("PREFINE_ADMIN_PASSWORD", default="")
"""The password of the first administrator; without it one is drawn and printed."""
