"""The picture's outlets: a page that opens offline, a frame for notebooks, SVG and PNG. All drawn by web/src.

The layout exists once, in TypeScript. In a page the browser runs it; for a figure a small JavaScript engine does.
"""

import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from xerte.errors import InputError
from xerte.explanation import EXTRA

BUILT = Path(__file__).with_name("viewer")
"""Where the build of web/ lies: made when the package is built, not kept in the repository."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>html, body, #xerte {{ height: 100%; margin: 0 }} body {{ color-scheme: light dark }}
@media print {{ html, body, #xerte {{ height: auto }} }}</style>
</head>
<body>
<main id="xerte"></main>
<script type="application/json" id="document">{document}</script>
<script>{script}</script>
<script>
xerteViewer.mount(document.getElementById("xerte"), JSON.parse(document.getElementById("document").textContent),
  {{ wheel: window.self === window.top }});
</script>
</body>
</html>
"""


def built(name: str) -> Path:
    """A file of the built viewer.

    Raises:
        InputError: the viewer was not built.
    """
    path = BUILT / name
    if not path.is_file():
        raise InputError(
            f"the viewer was not built with this installation of xerte ({name} is missing): install it again with "
            "`pip install .` (or `pip install -e .`) where packages can be downloaded"
        )
    return path


@cache
def _script(name: str) -> str:
    return built(name).read_text("utf-8")


def packed(document: dict[str, Any]) -> str:
    """The document as JSON that may stand inside a script element, whatever its names are."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def page(document: dict[str, Any]) -> str:
    """One self-contained HTML file: nothing is loaded from anywhere, and its rules forbid it."""
    asked = document["query"]
    title = html.escape(f"{asked['subject']} – {asked['relation']} – {asked['object']}, {asked['time']}")
    return _PAGE.format(title=title, document=packed(document), script=_script("viewer.js"))


def frame(document: dict[str, Any], height: int = 620) -> str:
    """The page in a frame of its own, as notebooks show it: many on one page do not touch each other."""
    source = html.escape(page(document), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{source}" title="Explanation" '
        f'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:6px"></iframe>'
    )


def figure(document: dict[str, Any], *, least: float | None, pruned: bool, dark: bool) -> str:
    """The picture as an SVG document.

    Args:
        document: what is drawn; its first candidate is the answer shown.
        least: the least share of the score a fact must have carried; None for as many as stay legible.
        pruned: whether what was pruned is drawn, too.
        dark: light on dark.

    Raises:
        InputError: the engine that draws is not installed, or the viewer was not built.
    """
    try:
        import quickjs
    except ImportError:
        raise InputError(f"figures need a drawing engine that is not installed: {EXTRA}") from None
    context = quickjs.Context()
    context.eval(_script("figure.js"))
    options = json.dumps({"least": least, "pruned": pruned, "dark": dark})
    return str(context.get("xerteFigure")(json.dumps(document), options))


def png(svg: str, scale: float) -> bytes:
    """An SVG document as pixels, in the font that comes with the viewer; other scripts by the system's fonts.

    Raises:
        InputError: the renderer is not installed.
    """
    try:
        import resvg_py
    except ImportError:
        raise InputError(f"PNG needs a renderer that is not installed: {EXTRA}") from None
    fonts = [str(built(name)) for name in ("Arimo-Regular.ttf", "Arimo-Bold.ttf")]
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, font_files=fonts, sans_serif_family="Arimo"))
