"""SVG as PDF: text stays text, in a font that the file carries."""

from __future__ import annotations

from webapp.base.charts.svg import FONT

PDF_FONT = "New Computer Modern"
"""Carried by typst, with Greek and Cyrillic; other scripts come from the fonts of the machine."""
PAGE = """\
#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg")
"""


def to_pdf(svg: str) -> bytes:
    """A document of `to_svg` as a page of its size. The same SVG gives the same bytes."""
    import typst  # 7 MB of memory, taken when somebody wants the first PDF

    pdf: bytes = typst.compile(PAGE.encode(), sys_inputs={"svg": svg.replace(FONT, PDF_FONT)})
    return pdf
