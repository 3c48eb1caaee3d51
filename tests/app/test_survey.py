"""A questionnaire that the server shows."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from surveyed import key
from xerte.app.page import add_survey
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings
from xerte.errors import InputError
from xerte.survey.page import page
from xerte.survey.reading import write_key


def test_a_questionnaire_is_shown_to_everybody_and_may_run_its_own_scripts_only(served: Served, tmp_path: Path) -> None:
    (tmp_path / "survey.html").write_text(page(key()), "utf-8")
    app = create_app(served, ServerSettings(host="0.0.0.0"))
    add_survey(app, tmp_path / "survey.html")
    with TestClient(app, client=("10.0.0.7", 1)) as stranger:
        found = stranger.get("/survey")
    assert (found.status_code, found.text) == (200, page(key()))
    assert "default-src 'none'; script-src 'unsafe-inline'" in found.headers["content-security-policy"]


def test_a_key_is_not_shown(served: Served, tmp_path: Path) -> None:
    write_key(tmp_path / "key.json", key())
    for file in (tmp_path / "key.json", tmp_path / "none.html"):
        with pytest.raises(InputError, match="is not a questionnaire"):
            add_survey(create_app(served), file)
