"""Requests drawn from the description itself: none makes the server fail, and every answer is as described."""

import subprocess
import sys
from pathlib import Path

from benchmarks.serving import until_fitted
from serving import server
from xerte.app.access import Scope, add_token, tokens_file

EXAMPLES = 8
"""Of every route and kind of data; without these limits, schemathesis draws thousands in some minutes."""


def test_no_request_makes_the_server_fail(tmp_path: Path) -> None:
    home = tmp_path / "home"
    token = add_token("schemathesis", Scope.ADMIN, tokens_file(home))
    with server("--model", "recurrence", "--write", home=home) as address:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"]
        command += ["--header", f"Authorization: Bearer {token}"]
        command += ["--max-examples", str(EXAMPLES), "--seed", "1", "--exclude-checks", "positive_data_acceptance"]
        command += ["--phases", "examples,fuzzing", "--request-timeout", "60"]
        until_fitted(int(address.rpartition(":")[2]))  # on a busy machine that takes longer than a question may
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
