"""The generated part of docs/tables.md, from results/tables/."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.real_tables import FORMAT
from reports.table import Block, Table
from xerte.files import read_json

FOLDER = Path("results") / "tables"
_HEADINGS = ("table", "facts", "relations", "model", "recurrence", "graph alone", "kept", "rests on", "CPU seconds")


def page(root: Path) -> list[Block]:
    """Test MRR of what `auto` keeps, of recurrence and of the graph alone; and what each table is."""
    kept = [
        read_json(file, FORMAT, "a record of a real table", dict) for file in sorted((root / FOLDER).glob("*.json"))
    ]
    if not kept:
        return ["not run yet"]
    kept = [one for one in kept if "auto" in one["models"]]
    won = sum(one["models"]["auto"]["kept"] != "recurrence" for one in kept)
    ahead = sum(_mrr(one, "auto") > _mrr(one, "recurrence") for one in kept)
    return [
        Table(_HEADINGS, [_row(one) for one in kept], "lrrrrrllr"),
        f"The model is kept on {won} of {len(kept)} tables; on test it beats recurrence on {ahead}.",
        "\n".join(
            f"- **{one['table']}**: {one['about']}; [{one['source'].removeprefix('https://github.com/')}]"
            f"({one['source']}) at {one['source_commit'][:10]}"
            for one in kept
        ),
    ]


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    ours, graph = one["models"]["auto"], one["models"].get("graph")
    stopped = graph and graph["unfinished"]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in ours["shares"].items())
    return (
        one["table"],
        f"{one['facts']:,}",
        str(one["relations"]),
        f"{_mrr(one, 'auto'):.1f}",
        f"{_mrr(one, 'recurrence'):.1f}",
        (f"{_mrr(one, 'graph'):.1f}" if graph else "not run yet")
        + (f" ({stopped['epochs']} of {stopped['of']} epochs)" if stopped else ""),
        ours["kept"],
        shares,
        f"{ours['cpu_seconds']:.0f}",
    )


def _mrr(one: Mapping[str, Any], model: str) -> float:
    return float(one["models"][model]["test"]["mrr"])


PARTS = {"real-tables": page}
