"""A table as data, for a page, as CSV and as LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.base.csv_cells import format_table

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    slug: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @property
    def texts(self) -> list[list[str]]:
        """The rows as pages and LaTeX print them."""
        return [[_format_cell(value) for value in row] for row in self.rows]

    @property
    def labelled_texts(self) -> list[list[tuple[str, str]]]:
        """The rows as pages print them, each cell with its column's name before it."""
        return [list(zip(self.columns, row, strict=True)) for row in self.texts]

    @property
    def numeric(self) -> list[bool]:
        """For each column whether it holds numbers and is aligned to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return [any(isinstance(c, int | float) for c in column) for column in columns]


def _format_cell(value: Cell) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def to_csv(table: Table) -> str:
    """The table as CSV in full precision."""
    return format_table([table.columns, *table.rows])


def to_latex(table: Table) -> str:
    """A booktabs table: needs \\usepackage{booktabs}."""
    alignment = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [" & ".join(map(_escape, row)) + r" \\" for row in table.texts]
    head = " & ".join(map(_escape, table.columns)) + r" \\"
    parts = [
        r"\begin{table}",
        rf"\caption{{{_escape(' '.join(filter(None, (table.title + '.', table.note))))}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule"),
        *(r"\end{tabular}", r"\end{table}", ""),
    ]
    return "\n".join(parts)


def _escape(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text.replace("–", "--"))
