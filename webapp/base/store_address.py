"""Reads PREFINE_STORE_URL. Imports no settings, which read it at their start."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

FORM = "s3://KEY:SECRET@host:port/bucket?tls=0&region=us-east-1"


@dataclass(frozen=True)
class StoreAddress:
    """A bucket of an S3 server, with the keys to it."""

    endpoint: str
    bucket: str
    prefix: str
    """What the names of all objects begin with: empty, or a path that ends in a slash."""
    region: str
    key: str = field(repr=False)
    """Empty, like the secret: boto3 looks for them where it is used to (a role of the machine, AWS's own variables)."""
    secret: str = field(repr=False)


def read_address(url: str) -> StoreAddress:
    """Raises ValueError, without the secret, when the address has another form."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"it must be {FORM}; letters such as / in a key or secret are written as %2F") from error
    bucket, _, prefix = parts.path.strip("/").partition("/")
    tls, region = options.pop("tls", "1"), options.pop("region", "us-east-1")
    if parts.scheme != "s3" or not host or not bucket or options or tls not in ("0", "1"):
        raise ValueError(f"it must be {FORM}")
    if bool(parts.username) != bool(parts.password):
        raise ValueError("it must have both a key and a secret, or neither")
    place = f"[{host}]" if ":" in host else host
    return StoreAddress(
        endpoint=f"{'https' if tls == '1' else 'http'}://{place}{f':{port}' if port else ''}",
        bucket=bucket,
        prefix=f"{prefix}/" if prefix else "",
        region=region,
        key=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
    )
