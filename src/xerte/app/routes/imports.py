"""A table of events from a client: looked at first, then kept as a dataset. It is sent twice and stays nowhere."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from xerte.api import schemas
from xerte.api.imports import import_events
from xerte.api.preview import preview as look
from xerte.app.access import Scope
from xerte.app.errors import RefusedError
from xerte.app.requests import PREFIX, allow, answer, content_type
from xerte.data.reading import scratch_folder

router = APIRouter(prefix=f"{PREFIX}/imports", tags=["data"])
Result = TypeVar("Result")
TYPES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/x-ndjson": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
}
"""None of them can be sent by a page of another origin that was not asked for leave."""
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {kind: {"schema": {}} for kind in TYPES}}}
_BODY["requestBody"]["content"]["text/csv"]["example"] = "subject,relation,object,time\nAnn,visits,Ben,2024-01-10\n"
_LONGEST_STEM = 50
"""In letters, so that a file system takes it whatever the letters are."""
Text = Annotated[str | None, Query(max_length=1000)]


@router.post("/preview", response_model=schemas.Preview, summary="Look at a table", openapi_extra=_BODY)
async def preview(
    request: Request,
    file: Annotated[str, Query(max_length=1000, description="What the table is called, for the command.")] = "events",
) -> Response:
    """Columns, types, what each could be, and problems; nothing is kept."""

    def work(file: Path) -> schemas.Preview:
        found = look([file])
        hidden = re.compile(re.escape(str(file.parent)) + "/?")
        words = {"summary": hidden.sub("", found.summary), "problems": [hidden.sub("", one) for one in found.problems]}
        command = hidden.sub("", found.command)
        return schemas.Preview.model_validate(found.to_json() | words | {"command": command})

    return answer(await _with_file(request, work, file), request)


@router.post(
    "",
    response_model=schemas.Imported,
    dependencies=[Depends(allow(Scope.WRITE))],
    summary="Keep a table",
    openapi_extra=_BODY,
)
async def keep(
    request: Request,
    name: Annotated[str, Query(min_length=1, max_length=100, description="What to call the dataset.")],
    subject: Text = None,
    relation: Text = None,
    object: Text = None,
    time: Text = None,
    ends: Text = None,
    time_format: Text = None,
    missing_object: Annotated[str | None, Query(description="stop, skip or self.")] = None,
    bad_rows: Annotated[str | None, Query(description="stop or skip.")] = None,
    header: bool = True,
) -> Response:
    """Takes a table in as a dataset of this name; the parameters are the options of `xerte data import`."""
    given = {
        "subject": subject,
        "relation": relation,
        "object": object,
        "time": time,
        "ends": ends,
        "time_format": time_format,
        "missing_object": missing_object,
        "bad_rows": bad_rows,
    }
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}

    def work(file: Path) -> schemas.Imported:
        kept = import_events(file, name, header=header, **options)
        return schemas.Imported.model_validate(kept.to_json())

    found = await _with_file(request, work)
    request.app.state.served.forget(name)
    return answer(found, request)


async def _with_file(request: Request, work: Callable[[Path], Result], name: str = "events") -> Result:
    """Some work with the body as a file of this name, harmlessly spelt, which is gone afterwards."""
    kind = content_type(request)
    if kind not in TYPES:
        raise RefusedError(415, "not_a_table", "the body is not said to be a table", f"send one of {', '.join(TYPES)}")
    content, stem = await request.body(), re.sub(r"\W+", "-", Path(name).stem).strip("-")[:_LONGEST_STEM] or "events"

    def with_file() -> Result:
        with scratch_folder() as folder:
            file = folder / f"{stem}{TYPES[kind]}"
            file.write_bytes(content)
            return work(file)

    return await asyncio.to_thread(with_file)
