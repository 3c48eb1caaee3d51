"""A report of blocks (headings, paragraphs, tables, one figure) as Markdown, as a page, or as PDF."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from xerte.errors import InputError
from xerte.explanation import EXTRA
from xerte.explanation.page import built


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the report's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Table:
    """Rows below a header, all text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A picture with its caption, as SVG and, where that can be made, as PNG."""

    svg: str
    caption: str
    png: bytes = b""


Block = Heading | Table | Figure | str
"""A string is a paragraph."""


def to_markdown(blocks: Sequence[Block], figure: str) -> str:
    """Markdown; the figure is a file of this name, which the caller writes."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            lines.append(f"{'#' * block.level} {_one_line(block.text)}")
        elif isinstance(block, Figure):
            lines.append(f"![{_one_line(block.caption)}]({figure})")
        elif isinstance(block, Table):
            rows = [block.header, tuple("---" for _ in block.header), *block.rows]
            lines.append("\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows))
        else:
            lines.append(_one_line(block))
    return "\n\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Without what Markdown would read as marks."""
    text = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>" else letter for letter in text)


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 Arimo, Arial, Helvetica, sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em;
  color: #17202a; background: #fff; overflow-wrap: anywhere }}
h1 {{ font-size: 1.4em; line-height: 1.3 }} h2 {{ font-size: 1.1em; margin-top: 1.8em }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ text-align: left; vertical-align: top; padding: 4px 10px 4px 0; border-bottom: 1px solid #dfe4e9 }}
th, td {{ overflow-wrap: break-word }} td:first-child {{ font-variant-numeric: tabular-nums; white-space: nowrap }}
figure {{ margin: 1em 0 }} figure svg {{ max-width: 100%; height: auto }}
figcaption {{ color: #566270; font-size: .9em }}
@media print {{ body {{ margin: 0; max-width: none }} figure, tr {{ break-inside: avoid }} }}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def to_page(blocks: Sequence[Block]) -> str:
    """One HTML file that loads nothing, made to be printed."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Explanation")
    return _PAGE.format(title=html.escape(title), body="\n".join(_elements(blocks)))


def _elements(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading):
            yield f"<h{block.level}>{html.escape(block.text)}</h{block.level}>"
        elif isinstance(block, Figure):
            yield f"<figure>{block.svg}<figcaption>{html.escape(block.caption)}</figcaption></figure>"
        elif isinstance(block, Table):
            head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in block.header)
            rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in block.rows)
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            yield f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        else:
            yield f"<p>{html.escape(block)}</p>"


_WITH_HEADING = 30
"""A heading stands on a page with some of what follows it; millimetres."""


def to_pdf(blocks: Sequence[Block]) -> bytes:
    """A PDF document in the font that comes with the viewer.

    Raises:
        InputError: the writer is not installed.
    """
    try:
        from fpdf import FPDF
    except ImportError:
        raise InputError(f"PDF needs a writer that is not installed: {EXTRA}") from None
    pdf = FPDF(format="A4")
    pdf.set_margin(20)
    pdf.set_auto_page_break(True, margin=18)
    for style, file in (("", "Arimo-Regular.ttf"), ("B", "Arimo-Bold.ttf")):
        pdf.add_font("Arimo", style, built(file))
    pdf.add_page()
    for block in blocks:
        if isinstance(block, Heading):
            if pdf.will_page_break(_WITH_HEADING):
                pdf.add_page()
            pdf.ln(2 if block.level == 1 else 4)
            pdf.set_font("Arimo", "B", 15 if block.level == 1 else 11.5)
            pdf.multi_cell(0, 6.5, block.text, new_x="LMARGIN", new_y="NEXT", align="L")
            pdf.ln(1)
            continue
        pdf.set_font("Arimo", "", 10)
        if isinstance(block, Figure):
            pdf.image(BytesIO(block.png), w=pdf.epw, alt_text=block.caption)
            pdf.set_font("Arimo", "", 8.5)
            pdf.multi_cell(0, 4.5, block.caption, new_x="LMARGIN", new_y="NEXT", align="L")
        elif isinstance(block, Table):
            columns = zip(block.header, *block.rows, strict=True)
            widths = tuple(6 + min(70, max(len(cell) for cell in column)) for column in columns)
            lines = "HORIZONTAL_LINES"
            with pdf.table(col_widths=widths, text_align="LEFT", line_height=4.8, borders_layout=lines) as table:
                for row in (block.header, *block.rows):
                    table.row(row)
            pdf.ln(2)
        else:
            pdf.multi_cell(0, 5, block, new_x="LMARGIN", new_y="NEXT", align="L")
            pdf.ln(1)
    return bytes(pdf.output())
