"""`xerte gallery`."""

from pathlib import Path
from typing import Annotated

import typer

from xerte.cli.output import busy, print_text


def gallery(
    dataset: Annotated[str, typer.Argument(metavar="DATA", help="world or icews14: the datasets with cases to show.")],
    model: Annotated[str, typer.Option(help="The folder of a trained model with inference graphs.")],
    out: Annotated[Path, typer.Option(help="Where pictures and texts go.")] = Path("gallery"),
    device: Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda.")] = "auto",
) -> None:
    """Draws cases worth looking at: the paper's own on ICEWS14, events with known causes on the embedded world.

    \b
    xerte gallery world --model runs/world-world
    xerte gallery icews14 --model icews14-paper --out docs/gallery
    """
    from xerte import api
    from xerte.api.gallery import write_gallery

    chosen = api.Model.load(model, dataset, device)
    with busy(f"drawing {chosen.dataset.name}"):
        written = write_gallery(chosen, out)
    for path in written:
        print_text(str(path))
