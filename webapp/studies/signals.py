"""Signals of studies, for the rooms above."""

from __future__ import annotations

from django.dispatch import Signal

member_left = Signal()
"""Somebody left an experiment that other members of its panel go on with. Sent with `experiment`, in the transaction
that ends the person's part."""
