"""Accounts of staff. Participants and evaluators have links, not accounts."""

from __future__ import annotations

from typing import Any

import django_otp.plugins.otp_static.admin  # noqa: F401 (registers what is unregistered below)
import django_otp.plugins.otp_totp.admin  # noqa: F401
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from webapp.accounts import roles, twofactor
from webapp.audit import record
from webapp.bench.admin.bench_admin import BenchAdmin

admin.site.unregister([Group, User, TOTPDevice, StaticDevice])  # keys and codes are in no list


class RoleFields(forms.Form):
    """The role of an account; its flags and groups are set when the account is saved."""

    role = forms.ChoiceField(
        choices=roles.Role.choices,
        initial=roles.Role.VIEWER,
        help_text="Viewers read the bench and change nothing. Experimenters set up studies, experiments and votes. "
        "Administrators may do everything, with accounts, API keys and the audit log.",
    )
    extra_rights = forms.MultipleChoiceField(
        required=False,
        label="Also may",
        widget=forms.CheckboxSelectMultiple,
        help_text="For viewers and experimenters; administrators may do all of it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        extra_rights = self.fields.get("extra_rights")
        if isinstance(extra_rights, forms.MultipleChoiceField):
            extra_rights.choices = roles.list_extra_rights()


class AccountForm(RoleFields, UserChangeForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "role" in self.fields:
            self.fields["role"].initial = roles.get_role(self.instance)
            self.fields["extra_rights"].initial = roles.get_extra_rights(self.instance)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        administrator = data.get("role") == roles.Role.ADMINISTRATOR and data.get("is_active")
        others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=self.instance.pk)
        if self.instance.is_superuser and not administrator and not others.exists():
            raise forms.ValidationError("This is the only administrator left: make somebody else one first.")
        return data


class NewAccountForm(RoleFields, AdminUserCreationForm):
    pass


@admin.register(User)
class StaffAdmin(BenchAdmin, UserAdmin):
    form = AccountForm
    add_form = NewAccountForm
    add_form_template = "admin/change_form.html"
    fieldsets = [
        (None, {"fields": ["username", "password", "email"]}),
        ("Access", {"fields": ["is_active", "role", "extra_rights"]}),
    ]
    add_fieldsets = [
        (None, {"fields": ["username", "usable_password", "password1", "password2"]}),
        ("Access", {"fields": ["role", "extra_rights"]}),
    ]
    list_display = ["username", "role", "two_factor", "is_active", "last_login"]
    list_filter = ["is_active"]
    filter_horizontal = []
    actions = ["reset_two_factor"]

    @admin.display(description="role")
    def role(self, user: User) -> str:
        return roles.get_role(user).label

    @admin.display(description="two-factor", boolean=True)
    def two_factor(self, user: User) -> bool:
        return twofactor.find_app(user) is not None

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return request.user.is_superuser

    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.is_staff = True
        obj.is_superuser = form.cleaned_data["role"] == roles.Role.ADMINISTRATOR
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        roles.assign_role(form.instance, form.cleaned_data["role"], form.cleaned_data["extra_rights"])

    @admin.action(description="Forget the second factor: for people who lost phone and codes")
    def reset_two_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        names = [user.get_username() for user in queryset if twofactor.remove_second_factor(user)]
        for user in queryset:
            record(request.user, "reset two-factor", user)
        if names:
            self.message_user(request, f"{', '.join(names)}: signs in by password alone now.", messages.SUCCESS)
        else:
            self.message_user(request, "Nothing was changed: none had one.", messages.WARNING)
