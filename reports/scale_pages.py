"""The generated parts of docs/scale.md: what a fact costs, what to buy, several processes, sharded entities."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import FORMAT as PROCESSES_FORMAT
from benchmarks.scale import FORMAT as SCALE_FORMAT
from benchmarks.shards import FORMAT as SHARDS_FORMAT
from reports.table import Block, Table
from xerte.files import read_json

BENCH = Path("results") / "bench"
_NOTHING = "Nothing has been recorded yet."
_SIZES = {"10⁸": 10**8, "10⁹": 10**9, "10¹⁰": 10**10}
_MOST = 2**30
_SCRATCH = 120
"""Bytes a row of temporary files that an import within a budget needs at most: see docs/scale.md."""
_MEBIBYTE = 2**20


def facts(root: Path) -> list[Block]:
    """Processor seconds, memory and bytes of import and index, freely and within a budget."""
    record = _read(root / BENCH / "scale.json", SCALE_FORMAT)
    if record is None:
        return [_NOTHING]
    rows = []
    for size in record["sizes"]:
        for name, words in (("freely", "freely"), ("within", f"within {record['memory'] // _MEBIBYTE:,} MiB")):
            if name not in size:
                continue
            taken, index = size[name]["import"], size[name]["index"]
            rows.append(
                (
                    f"{size['events']:,}",
                    words,
                    f"{taken['own_bytes'] / _MEBIBYTE:,.0f} MiB",
                    f"{index['own_bytes'] / _MEBIBYTE:,.0f} MiB",
                    f"{1e9 * taken['cpu_s'] / size['events']:,.0f} ns",
                    f"{1e9 * index['cpu_s'] / size['events']:,.0f} ns",
                    f"{taken['done']['bytes'] / taken['done']['facts']:.1f}",
                    f"{index['done']['bytes'] / taken['done']['facts']:.1f}",
                )
            )
    heads = ("events", "", "memory, import", "index", "a fact, import", "index", "bytes on disk, dataset", "index")
    return [Table(heads, rows), _of(record)]


def buy(root: Path) -> list[Block]:
    """The largest size that was measured, carried on in proportion."""
    record = _read(root / BENCH / "scale.json", SCALE_FORMAT)
    if record is None:
        return [_NOTHING]
    taken, index = (record["sizes"][-1]["within"][stage] for stage in ("import", "index"))
    count = taken["done"]["facts"]
    disk = (taken["done"]["bytes"] + index["done"]["bytes"]) / count
    hours = (taken["cpu_s"] + index["cpu_s"]) / count / 3600
    memory = max(taken["own_bytes"], index["own_bytes"]) / _MEBIBYTE
    rows = [
        (
            name,
            -(-number // _MOST),
            f"{disk * number / 1e9:,.0f} GB",
            f"{_SCRATCH * min(number, _MOST) / 1e9:,.0f} GB",
            f"{hours * number:,.1f} h",
        )
        for name, number in _SIZES.items()
    ]
    heads = ("facts", "datasets", "disk that stays", "disk while one is imported", "hours of one core")
    words = f"Extrapolated in proportion from {count:,} facts, which needed {memory:,.0f} MiB within their limit."
    return [Table(heads, rows), words]


def processes(root: Path) -> list[Block]:
    """Bytes of a step, and its seconds on several processes beside what the model says."""
    records = _trainings(root)
    rows = [
        (
            f"{record['dataset']}, {record['preset']}",
            one["processes"],
            f"{record['bytes']:,}" if one["processes"] > 1 else "–",
            f"{1e3 * one['sum_s']:.1f} ms" if one["processes"] > 1 else "–",
            f"{1e3 * one['step_s']:.0f} ms",
            f"{1e3 * one['modelled_s']:.0f} ms",
            f"{record['counts'][0]['step_s'] / one['step_s']:.2f}",
            f"{one['alike']} of {one['steps']} steps" if one["processes"] > 1 and "alike" in one else "–",
        )
        for record in records
        for one in record["counts"]
    ]
    heads = (
        "",
        "processes",
        "bytes a step",
        "their sum",
        "step",
        "by the model",
        "speed-up",
        "losses within 1e-4",
    )
    return [Table(heads, rows), "\n".join(map(_of, records))] if records else [_NOTHING]


def tables(root: Path) -> list[Block]:
    """From which size on a table of embeddings costs as much as all the rest of a step."""
    lines = []
    for record in _trainings(root):
        alone, two = record["counts"][:2]
        summed = two["sum_s"] / record["parameters"]
        most = alone["step_s"] / (record["adam_s"] + summed)
        touched = f"; a step touches {max(record['touched']):.0%} of their rows" if record["touched"] else ""
        lines.append(
            f"- {record['dataset']}, {record['preset']}: {record['parameters']:,} parameters, {record['tables']:,} of "
            f"them in tables of entities{touched}. Adam takes {1e9 * record['adam_s']:.1f} ns a parameter, a sum over "
            f"two processes {1e9 * summed:.1f} ns, so tables would take as long as the rest of a step from "
            f"{most / 1e6:,.0f} million parameters on."
        )
    return ["\n".join(lines) or _NOTHING]


def shards(root: Path) -> list[Block]:
    """What answers lose where workers read their own entities' facts only, and what asking others sends."""
    record = _read(root / BENCH / "shards.json", SHARDS_FORMAT)
    if record is None:
        return [_NOTHING]
    rows = [
        (
            one["workers"],
            f"{one['facts'] / record['facts']:.0%}",
            f"{one['mrr']:.2f}",
            f"{one['asked_workers']:.1f}",
            f"{one['asked_entities']:,.0f}",
            f"{one['sent_bytes'] / 1e3:,.0f} kB",
        )
        for one in record["workers"]
    ]
    heads = ("workers", "facts on the fullest", "MRR, apart", "asking: workers", "entities", "sent per question")
    return [Table(heads, rows), _of(record)]


def _trainings(root: Path) -> list[dict[str, Any]]:
    paths = sorted((root / BENCH / "processes").glob("*.json"))
    return [record for path in paths if (record := _read(path, PROCESSES_FORMAT)) is not None]


def _read(path: Path, format: str) -> dict[str, Any] | None:
    return read_json(path, format, "a record of scale", dict) if path.exists() else None


def _of(record: Mapping[str, Any]) -> str:
    machine = record["machine"]
    return (
        f"- `{record['command']}` at {machine['commit'][:10]} on {machine['when'][:10]}, {machine['cores']} cores of "
        f"{machine['processor']}, load {machine['load']}."
    )


PARTS = {
    "scale-facts": facts,
    "scale-buy": buy,
    "scale-processes": processes,
    "scale-tables": tables,
    "scale-shards": shards,
}
