"""Accounts of those who run studies. Participants and evaluators have links, not accounts."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister([Group, User])


@admin.register(User)
class StaffAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    fieldsets = [
        (None, {"fields": ["username", "password", "email"]}),
        (
            "Access",
            {
                "fields": ["is_active", "is_staff", "is_superuser"],
                "description": "Staff see the bench. To set up experiments and studies one needs superuser as well.",
            },
        ),
    ]
    list_display = ["username", "email", "is_staff", "is_superuser", "last_login"]
    list_filter = ["is_staff", "is_active"]
    filter_horizontal = []
