"""Lists that people type with one entry a line."""


def split_lines(text: str) -> list[str]:
    """The lines that are not empty, without the space around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]
