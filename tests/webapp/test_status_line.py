"""A status line replaces the one before on a terminal, and follows it elsewhere."""

import io

from django.core.management.base import OutputWrapper

from webapp.base.status_line import StatusLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def write(out):
    line = StatusLine(OutputWrapper(out))
    for text in ("a long line", "short"):
        line.show(text)
    line.clear()
    line.clear()
    return out.getvalue()


def test_a_shorter_line_leaves_nothing_of_a_longer_one():
    assert write(Terminal()) == "\ra long line\rshort      \r     \r"


def test_a_file_gets_one_line_after_the_other():
    assert write(io.StringIO()) == "a long line\nshort\n"
