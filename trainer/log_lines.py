"""Lines of a training's log. A marked line is the trainer's own: it quotes nothing that a model or a person wrote."""

from __future__ import annotations

import textwrap

MARK = "trainer: "
"""Only lines that begin with it are copied into other logs, which no erasure reaches."""


def say(text: str, quoted: str = "") -> None:
    """Print a line. `quoted` may hold words of generated code, which may quote a person; it stands below, unmarked."""
    print(MARK + text + (f"\n{textwrap.indent(quoted, '  ')}" if quoted else ""), flush=True)
