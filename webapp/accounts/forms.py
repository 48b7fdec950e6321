"""The sign-in form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError

from webapp.accounts import twofactor

CODE_WIDGET = {"autocomplete": "one-time-code", "autocapitalize": "off", "spellcheck": "false", "maxlength": "24"}


WRONG_CODE = "That code is not right. Each works once, for half a minute; after a wrong one, wait a few seconds."
LOST_SEED = (
    "Codes of your app cannot be checked, because this installation cannot decrypt what it keeps of the app. Sign in "
    "with a recovery code, or ask the person who runs this site to restore PREFINE_ENCRYPTION_KEYS."
)


class LoginForm(AdminAuthenticationForm):
    code = forms.CharField(
        required=False,
        max_length=24,
        label="Code",
        help_text="Six digits from your authenticator app, or a recovery code. Empty if you have set up neither.",
        widget=forms.TextInput(CODE_WIDGET),
    )

    def confirm_login_allowed(self, user: User) -> None:
        """After the password, check the second factor if the account has one."""
        super().confirm_login_allowed(user)
        app = twofactor.find_app(user)
        if app is None:
            return
        code = self.cleaned_data.get("code", "")
        if not code:
            raise ValidationError("This account also needs the code from your authenticator app.", code="code")
        device = twofactor.verify_code(user, code)
        if device is None:
            credentials = {"username": user.get_username()}
            user_login_failed.send(sender=__name__, credentials=credentials, request=self.request)
            raise ValidationError(WRONG_CODE if app.readable else LOST_SEED, code="code")
        user.otp_device = device  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs["autocomplete"] = "username"
