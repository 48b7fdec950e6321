"""Second factors of staff, with encrypted seeds."""

from __future__ import annotations

from binascii import unhexlify
from typing import Any

from django_otp.plugins.otp_totp.models import TOTPDevice, default_key

from webapp.base.encryption import EncryptedField, is_readable


class AuthenticatorApp(TOTPDevice):  # type: ignore[misc]
    """An authenticator app. Its seed takes the place of `key`, which stays empty: that column is not encrypted."""

    seed = EncryptedField(default=default_key, editable=False)

    class Meta:
        verbose_name = "authenticator app"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.key = ""
        super().save(*args, **kwargs)

    @property
    def readable(self) -> bool:
        """Whether this installation's keys decrypt the seed."""
        return is_readable(self.seed)

    def verify_token(self, token: Any) -> bool:
        return self.readable and bool(super().verify_token(token))

    @property
    def bin_key(self) -> bytes:
        """Raises ValueError if the seed cannot be decrypted."""
        return unhexlify(self.seed)
