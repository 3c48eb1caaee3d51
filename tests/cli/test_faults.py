"""What the system refuses is one sentence and an exit code: a full output, little memory, no temporary folder."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and ulimit are Linux's")

XERTE = f"{sys.executable} -m xerte"
ROWS = "subject,relation,object,time\n" + "".join(f"a,r,b{day},2024-01-{day:02}\n" for day in range(1, 29))


def run(command: str, home: Path, **environment: str) -> tuple[int, list[str]]:
    """The exit code, and the lines of stderr."""
    place = os.environ | {"XERTE_HOME": str(home), **environment}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=place, cwd=home, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("words", ["--help", "data list --json"])
def test_a_full_output(tmp_path: Path, words: str) -> None:
    assert run(f"{XERTE} {words} > /dev/full", tmp_path) == (
        2,
        ["xerte: the output cannot be used: No space left on device"],
    )
    code, _ = run(f"{XERTE} {words} > /dev/full 2> /dev/full", tmp_path)
    assert code in (1, 2)


@pytest.mark.parametrize(
    ("words", "library"),
    [("forecast world Velavrin visits 2022-10-20", "torch"), ("data import e.csv --name mine", "duckdb")],
)
def test_too_little_memory_to_load_a_library(tmp_path: Path, words: str, library: str) -> None:
    (tmp_path / "e.csv").write_text(ROWS)
    for megabytes in (300, 400):
        code, said = run(f"ulimit -v {megabytes << 10}; {XERTE} {words}", tmp_path)
        assert (code, len(said)) == (2, 1)
        assert said[0].startswith(f"xerte: {library} does not fit in the {megabytes} MB of memory")


def test_an_import_without_memory_for_its_index_is_whole(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(ROWS)
    code, said = run(f"ulimit -v {900 << 10}; {XERTE} data import e.csv --name mine", tmp_path)
    assert (code, said) == (0, [])
    code, said = run(f"{XERTE} data check mine", tmp_path)
    assert (code, said) == (0, [])


def test_without_a_temporary_folder(tmp_path: Path) -> None:
    """Whatever would write rows of the user's there says so, and nothing else; what needs none goes on."""
    (tmp_path / "e.csv").write_text(ROWS)
    (tmp_path / "q.csv").write_text("subject,relation,time\na,r,2024-02-01\n")
    (tmp_path / "names.csv").write_text("name,label\na,Ada\n")
    (tmp_path / "aliases.csv").write_text("alias,name\nb1,b2\n")
    code, _ = run(f"{XERTE} data import e.csv --name mine", tmp_path)
    assert code == 0
    (tmp_path / "none.py").write_text(
        "import contextlib, io, sys, tempfile\n"
        "tempfile._candidate_tempdir_list = lambda: []\n"
        "from xerte.cli import app\n"
        "for line in sys.stdin:\n"
        "    said = io.StringIO()\n"
        "    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):\n"
        "        try:\n"
        "            app(line.split())\n"
        "        except SystemExit as ended:\n"
        "            code = ended.code\n"
        "    print(code or 0, repr(said.getvalue()), file=sys.stderr)\n"
    )
    lines = [
        "data import e.csv --name other",
        "data merge mine b1 b2",
        "data merge mine --aliases aliases.csv",
        "data preview e.csv",
        "data backup mine m.tar",
        "forecast mine --queries q.csv --model recurrence --out a.csv",
        "explain mine a r 2024-01-28 --labels names.csv",
    ]
    (tmp_path / "lines").write_text(
        "\n".join([*lines, "data append mine e.csv", "data backup mine m.tar", "data check mine"])
    )
    code, said = run(f"{sys.executable} none.py < lines", tmp_path)
    assert code == 0
    refused = "2 'xerte: no temporary folder can be made: No usable temporary directory found in []; set TMPDIR\\n'"
    assert said == [*[refused] * len(lines), "0 ''", refused, "0 ''"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["e.csv", "q.csv", "names.csv", "aliases.csv", "none.py", "lines", "datasets"]
    )


def test_rejects_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(ROWS + "a,r,b,soon\n" * 5000)
    code, said = run(f"ulimit -f 8; {XERTE} data import e.csv --name mine --bad-rows skip", tmp_path)
    assert code == 2
    assert said == [f"xerte: {tmp_path}/e.csv.rejects.csv cannot be written: File too large"] or len(said) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv"]


def test_answers_that_do_not_fit(tmp_path: Path) -> None:
    names = [hashlib.sha256(bytes([one])).hexdigest() for one in range(200)]
    rows = "".join(f"a,r,{name},2024-01-{1 + at % 28:02}\n" for at, name in enumerate(names))
    (tmp_path / "e.csv").write_text("subject,relation,object,time\n" + rows)
    (tmp_path / "q.csv").write_text("subject,relation,time\na,r,2024-02-01\n")
    assert run(f"{XERTE} data import e.csv --name mine", tmp_path)[0] == 0
    asked = f"{XERTE} forecast mine --queries q.csv --top 200 --model recurrence --out a.parquet"
    code, said = run(f"ulimit -f 8; {asked}", tmp_path)
    assert (code, said) == (2, ["xerte: a.parquet cannot be written: File too large"])
    assert not [path for path in tmp_path.iterdir() if "parquet" in path.name]


def test_a_polite_end_leaves_no_rows_behind(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    place = os.environ | {"XERTE_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}
    code = """
import sys, threading, time
sys.argv = ["xerte", "data", "import", "e.csv", "--name", "mine"]
from xerte.data import events
def slow(*_, **__):
    print("reading", flush=True)
    time.sleep(60)
events.load = slow
import xerte.cli
xerte.cli.main()
"""
    (tmp_path / "e.csv").write_text(ROWS)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=place, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert any((tmp_path / "tmp").iterdir())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("number", "ended"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_the_middle_of_a_query_ends_it_politely(tmp_path: Path, number: int, ended: int) -> None:
    """The query would take hours, on every thread of duckdb."""
    (tmp_path / "tmp").mkdir()
    place = os.environ | {"XERTE_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}
    code = """
import sys, threading
sys.argv = ["xerte", "data", "import", "e.csv", "--name", "mine"]
from xerte.data import events
def slow(scratch, *_, **__):
    threading.Timer(1, print, ["reading"], {"flush": True}).start()
    scratch.con.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3")
events.load = slow
import xerte.cli
xerte.cli.main()
"""
    (tmp_path / "e.csv").write_text(ROWS)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place, cwd=tmp_path, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == ended
    assert "Traceback" not in said
    assert len(said.split("\n")) <= 3
    assert list((tmp_path / "tmp").iterdir()) == []
