"""The registry of methods. (Landed empty so that the web models can be built; the methods follow.)"""

from __future__ import annotations

from typing import Any

METHODS: dict[str, Any] = {}
