"""What experiments tell the rooms above them."""

from __future__ import annotations

from django.dispatch import Signal

training_begins = Signal()
"""A worker is about to read the files of an experiment's training. Sent with `experiment`."""
prompt_set_uses_requested = Signal()
"""What uses a set of prompts is asked for. Sent with `prompt_sets`; a receiver returns (kind of row, pairs of a
set's primary key and the name of a row that uses it).
"""
ratings_requested = Signal()
"""What people have said of films of policies is asked for. Sent with `of`, the public ids of experiments; a receiver
returns {public id: (alignment rate, number of ratings)}.
"""
