"""The generated parts of docs/live.md, from results/live/ and results/bench/live.json."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.errors import InputError
from xerte.files import read_json

FORMAT = "xerte new names 1"
KILLS = Path("results") / "live" / "kills.json"
MEASURED = Path("results") / "bench" / "live.json"
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
    return [Table(("killed during", "at random", "aimed"), rows), f"{found} Seed {body['seed']}."]


def measured(root: Path) -> list[Block]:
    """Ingestion, latency, look-ups and compaction, of the newest record."""
    file = root / MEASURED
    try:
        body = read_json(file, "xerte live 2", "a measurement of live events", dict)
    except InputError:
        return ["not run yet"]
    rates = [(size, f"{rate:,.0f}") for size, rate in body["events_per_s"].items()]
    keys = ("visible_ms", "known_ms", "forecast_ms")
    seen = [(name, *(f"{body[key][name][0]:.0f}" for key in keys)) for name in body["visible_ms"]]
    both = [(nodes, body["plain_ms"][nodes], tail) for nodes, tail in body["lookup_ms"].items()]
    looked = [(nodes, f"{base:.2f}", f"{tail:.2f}", f"{tail / base:.2f}") for nodes, base, tail in both]
    columns = ("one event until its forecast (ms)", "of a new name", "of a known one", "the forecast alone")
    nodes = f"look-ups, {body['facts']:,} facts and a tail of {body['tail']:,}: nodes"
    machine, longest, calm = body["machine"], body["longest_ms"], body["calm_ms"]
    fixed = {name: f"{ms:,.1f}" for name, ms in body.get("correction_ms", {}).items()}
    ways = [(way, *(fixed.get(f"{size} {way}", "–") for size in (1, 1000))) for way in ("by id", "by name")]
    heads = (f"corrections of {body.get('corrected', 0):,} imported events (ms)", "one", "1,000 in a batch")
    corrected = list[Block]()
    if fixed:
        corrected = [Table(heads, ways), f"The first by id took {fixed['first']} ms: it sorts all ids, once."]
    words = f"The longest forecast took {longest:.0f} ms while a compaction ran, {calm:.0f} ms without one. "
    words += f"{machine['device']}, load {machine['load']:.1f}, {machine['commit'][:10]}."
    return [
        Table(("events in a batch", "events/s, each batch durable"), rates),
        Table(columns, seen),
        Table((nodes, "base (ms)", "with the tail (ms)", "ratio"), looked),
        *corrected,
        words,
    ]


PARTS = {"new-names": new_names, "kills": kills, "live-measured": measured}
