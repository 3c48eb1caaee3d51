"""A table over HTTP: looked at before anything is kept, then asked about."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serving import local
from xerte.api import datasets
from xerte.app.served import Served
from xerte.app.settings import ServerSettings

ROWS = [f"Ann,visits,{('Ben', 'Cid')[day % 2]},2024-01-{day:02}" for day in range(1, 21)]
TABLE = "\n".join(["who,does,whom,date", *ROWS])
COLUMNS = {"subject": "who", "relation": "does", "object": "whom", "time": "date"}
CSV = {"content-type": "text/csv"}


def send(client: TestClient, path: str, content: str | bytes = TABLE, **params: Any) -> Any:
    return client.post(f"/api/v1/imports{path}", content=content, params=params, headers=CSV)


def test_a_look_shows_columns_types_and_problems_and_keeps_nothing(client: TestClient) -> None:
    found = send(client, "/preview", TABLE + "\nAnn,visits,,2024-01-21\nAnn,visits").json()
    columns = {one["name"]: one for one in found["columns"]}
    assert (columns["date"]["role"], columns["date"]["type"], columns["who"]["type"]) == ("time", "date", "text")
    assert found["options"]["time"] == "date"
    assert any("line 23" in problem for problem in found["problems"])
    assert "/tmp" not in str(found)
    assert "import events.csv" in found["command"]
    named = send(client, "/preview", file="../Visits of Ann's; rm.xlsx").json()
    assert "import Visits-of-Ann-s-rm.csv" in named["command"]
    assert [one.name for one in datasets.listed() if one.kind == "imported"] == []


def test_a_table_is_kept_under_a_name_and_answers(served: Served, own_home: Path) -> None:
    with local(served, ServerSettings(write=True)) as client:
        kept = send(client, "", name="visits", **COLUMNS)
        assert (kept.status_code, kept.json()["facts"]) == (200, 20)
        again = send(client, "", name="visits", **COLUMNS)
        assert (again.status_code, again.json()["code"]) == (422, "name_taken")
        asked = {"subject": "Ann", "relation": "visits", "time": "2024-01-21"}
        answers = client.post("/api/v1/forecast", json=asked, params={"dataset": "visits"}).json()["answers"]
        assert {one["entity"] for one in answers} == {"Ben", "Cid"}
        assert client.get("/api/v1/statistics", params={"dataset": "visits"}).json()["name"] == "visits"
        unknown = client.get("/api/v1/statistics", params={"dataset": "../visits"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_dataset")


@pytest.mark.parametrize("content", ["", "a,b\n1", b"\xff\xfe\x00", "x" * 10_000, "=1+1\0,<b>\n"])
def test_what_is_no_table_is_told(client: TestClient, content: str | bytes) -> None:
    response = send(client, "/preview", content)
    assert response.status_code in (200, 422), response.text
    assert response.json().get("problems") or response.json()["message"]


def test_reading_does_not_allow_keeping(client: TestClient) -> None:
    assert send(client, "", name="visits", **COLUMNS).status_code == 403
    response = client.post("/api/v1/imports/preview", content=TABLE, headers={"content-type": "text/plain"})
    assert (response.status_code, response.json()["code"]) == (415, "not_a_table")


def test_the_limits_of_a_table(served: Served) -> None:
    with local(served, ServerSettings(max_table=10)) as client:
        assert send(client, "/preview").status_code == 413
    with local(served, ServerSettings(max_tables=0)) as client:
        assert send(client, "/preview").status_code == 503


@pytest.mark.parametrize("path", ["/preview", ""])
def test_without_a_temporary_folder_a_table_is_refused(
    served: Served, own_home: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with local(served, ServerSettings(write=True)) as client:
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
        told = send(client, path, name="visits", **COLUMNS)
    assert told.status_code == 422
    assert told.json()["message"].startswith("no temporary folder can be made")
    assert [one.name for one in datasets.listed() if one.kind == "imported"] == []
