"""What small charts share: a text, and the document around the parts."""

from collections.abc import Sequence
from html import escape

STYLE = (
    "text{font:12px Arimo,Arial,sans-serif;fill:var(--ink,#1b2027)}.title{font-weight:bold;font-size:14px}"
    ".soft{fill:var(--soft,#545d69)}.axis{stroke:var(--axis,#9aa4b0)}.paper{fill:var(--paper,#fff)}"
    ".right{text-anchor:end}.middle{text-anchor:middle}"
)
"""Letters and axes, in the colours of the page around them where it names them; a chart adds its own marks."""


def text(x: float, y: float, words: str, kind: str) -> str:
    """Words at a place; `kind` names classes of the style."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def document(width: float, height: float, title: str, style: str, parts: Sequence[str]) -> str:
    """The whole picture, with its title for those who cannot see it."""
    head = f'viewBox="-10 0 {width + 20:.0f} {height:.0f}" width="{width + 20:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {head} role="img" aria-label="{escape(title)}">'
        f'<style>{STYLE}{style}</style><rect class="paper" x="-10" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )
