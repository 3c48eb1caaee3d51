"""The generated parts of docs/live.md, from results/live/ and results/bench/live.json."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.files import read_json

FORMAT = "xerte new names 1"
KILLS = Path("results") / "live" / "kills.json"
NEW_NAMES = Path("results") / "live" / "new-names.json"


def new_names(root: Path) -> list[Block]:
    """How well models answer about names they have read few facts about."""
    file = root / NEW_NAMES
    return list(blocks(read_json(file, FORMAT, "a study of new names", dict))) if file.is_file() else ["not run yet"]


def blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    """Two tables, a column of MRRs for every model: by the name that is asked about, and by the right answer."""
    studies, first = body["studies"], body["studies"][0]
    share = first["facts that touch a name training never saw"]
    yield (
        f"Test of {first['dataset']}, time-aware filter; {share:.0%} of its facts touch a name training never saw. "
        "Facts are counted before the time of the question."
    )
    for about, words in (("asked about", "facts of the name asked about"), ("answer", "facts of the right answer")):
        for group in ("never seen in training", "seen in training"):
            heads = [f"MRR, {one['model']}" for one in studies]
            rows = [_row(index, about, group, studies) for index in range(len(first[about]))]
            yield Table((f"{words}, {group}", "questions", *heads), rows)
    yield f"`{body['command']}` at {body['commit'][:10]}."


def _row(index: int, about: str, group: str, studies: list[dict[str, Any]]) -> tuple[str, ...]:
    low, high = studies[0][about][index]["facts from"], studies[0][about][index]["facts to"]
    words = str(low) if low == high else f"more than {low - 1}" if high is None else f"{low} – {high}"
    found = [one[about][index][group] for one in studies]
    return (words, f"{found[0]['queries']:,}", *("–" if one["mrr"] is None else f"{one['mrr']:.1f}" for one in found))


def kills(root: Path) -> list[Block]:
    """How often processes were killed, and at what."""
    file = root / KILLS
    if not file.is_file():
        return ["not run yet"]
    body = read_json(file, "xerte kills 1", "a record of kills", dict)
    rows = [(what, f"{body['killed'].get(f'{what}, random', 0)}", f"{body['killed'].get(f'{what}, aimed', 0)}")
            for what in dict.fromkeys(name.partition(",")[0] for name in body["killed"])]  # fmt: skip
    found = f"{body['kills']} kills, {sum(body['events'].values()):,} events: none lost, none twice."
    return [Table(("killed while it was at", "at random", "aimed"), rows), f"{found} Seed {body['seed']}."]


PARTS = {"new-names": new_names, "kills": kills}
