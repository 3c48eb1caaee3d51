"""The reference of JSON documents, read off the models that make them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.api import schemas
from xerte.api.schemas.base import Body

_DOCUMENTS: tuple[tuple[str, type[Body]], ...] = (
    ("`xerte forecast`, `POST /api/v1/forecast`", schemas.Forecast),
    ("`xerte explain`, `POST /api/v1/explain`", schemas.Explanation),
    ("`xerte ask`, `POST /api/v1/ask`", schemas.Reply),
    ("`xerte scan`, `GET /api/v1/scan`", schemas.Scan),
    ("`xerte compare`, `POST /api/v1/compare`", schemas.Comparison),
    ("`xerte evaluate`", schemas.Evaluation),
    ("`xerte train`", schemas.Training),
    ("`xerte faithfulness`", schemas.Faithfulness),
    ("`xerte data list` and `GET /api/v1/datasets`: a list of", schemas.Dataset),
    ("`xerte model list` and `GET /api/v1/models`: a list of", schemas.TrainedModel),
    ("`xerte data stats`, `GET /api/v1/statistics`", schemas.Statistics),
    ("`xerte data show`, `GET /api/v1/history`", schemas.History),
    ("`xerte data search`, `GET /api/v1/entities`, `GET /api/v1/relations`", schemas.Found),
    ("`xerte data check`", schemas.Checked),
    ("`xerte data get`", schemas.Gotten),
    ("`POST /api/v1/events`", schemas.Taken),
    ("Every error over HTTP", schemas.Error),
    ("The body of `POST /api/v1/forecast`", schemas.ForecastRequest),
    ("The body of `POST /api/v1/explain`", schemas.ExplainRequest),
    ("The body of `POST /api/v1/ask`", schemas.AskRequest),
    ("The body of `POST /api/v1/compare`", schemas.CompareRequest),
    ("One event of the list that `POST /api/v1/events` takes", schemas.EventIn),
)


def documents(_: Path) -> list[Block]:
    """Every document, then what they are made of."""
    blocks: list[Block] = []
    parts: dict[str, dict[str, Any]] = {}
    for title, kind in _DOCUMENTS:
        mode = "validation" if kind.__name__.endswith(("Request", "In")) else "serialization"
        schema = kind.model_json_schema(mode=mode)  # type: ignore[arg-type]  # one of two words
        parts |= schema.get("$defs", {})
        blocks += _document(title, schema)
    for name in sorted(set(parts) - {kind.__name__ for _, kind in _DOCUMENTS}):
        if "properties" in parts[name]:
            blocks += _document(name, parts[name])
    return blocks


def _document(title: str, schema: dict[str, Any]) -> Iterator[Block]:
    yield f"## {title}"
    yield str(schema.get("description", "")).split("\n\n", maxsplit=1)[0]
    needed = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", _kind(one) + ("" if name in needed else "; may be absent"), _about(one, schema))
        for name, one in schema["properties"].items()
    ]
    yield Table(("key", "kind", "what it is"), rows, "lll")


def _about(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What a field is, in its own words or in those of its kind."""
    of_kind = schema.get("$defs", {}).get(_kind(field), {})
    return str(field.get("description") or of_kind.get("description", ""))


def _kind(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    return kind


PARTS = {"json": documents}
