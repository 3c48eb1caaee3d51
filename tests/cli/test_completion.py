"""What the shell completes, asked as bash asks; and parts of names that are enough."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import xerte
from xerte.cli import app

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to complete in")


def _completed(*words: str) -> list[str]:
    """What bash offers for the last of these words, each written as at a prompt."""
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    script = f"""
        source <(_XERTE_COMPLETE=source_bash xerte)
        COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        _xerte_completion xerte
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(Path(xerte.__file__).parents[1])},
    )
    return done.stdout.splitlines()


@bash
def test_bash_completes_names_of_the_dataset_that_stands_before() -> None:
    assert _completed("xerte", "forecast", "worl") == ["world"]
    assert _completed("xerte", "forecast", "world", "Old\\ Anv") == ["Old\\ Anvil\\ Brigade"]
    assert _completed("xerte", "forecast", "world", '"old anv') == ["Old Anvil Brigade"]  # bash closes open quotes
    assert _completed("xerte", "explain", "world", "Old\\ Anvil\\ Brigade", "freez") == ["freezes\\ assets\\ of"]
    assert _completed("xerte", "forecast", "no-such-dataset", "Old") == [""]


def test_a_part_that_one_name_holds_is_enough() -> None:
    whole = CliRunner().invoke(app, ["forecast", "world", "Old Anvil Brigade", "freezes assets of", "2022-10-20"])
    part = CliRunner().invoke(app, ["forecast", "world", "old anvil", "freezes", "2022-10-20"])
    assert part.exit_code == 0
    assert part.stdout == whole.stdout
    assert part.stderr.splitlines() == [
        "note: old anvil is read as Old Anvil Brigade",
        "note: freezes is read as freezes assets of",
    ]


def test_a_part_of_several_names_is_refused() -> None:
    refused = CliRunner().invoke(app, ["forecast", "world", "Brigade", "condemns", "2022-10-20"])
    assert refused.exit_code == 2
    assert refused.stderr.startswith("xerte: ")
    assert "names hold Brigade" in refused.stderr
    assert "Old Anvil Brigade" in refused.stderr or "…" in refused.stderr
