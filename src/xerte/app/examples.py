"""Examples in the description of the API: real questions to the embedded world and what was answered.

`python -m reports examples` asks them again and writes `examples.json`; a test says when that is due.
"""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI

FILE = Path(__file__).with_name("examples.json")


def add_examples(app: FastAPI) -> None:
    """Puts a kept answer beside the schema of every route that has one."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            paths = describe()["paths"]
            for name, answer in json.loads(FILE.read_text("utf-8")).items():
                method, path = name.split(" ")
                paths[path][method.lower()]["responses"]["200"]["content"]["application/json"]["example"] = answer
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
