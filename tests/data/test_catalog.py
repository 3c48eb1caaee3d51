"""Known datasets, fetched from a real server on loopback that can misbehave in every way a server can."""

import hashlib
import http.server
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from xerte.data import catalog, download, store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.published import BENCHMARKS, PUBLIC_HOME, Benchmark
from xerte.data.statistics import Statistics
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import DatasetError, DownloadError, InputError

PUBLISHED = {
    "entity2id.txt": "Ashton\t0\nTeheran\t1\nMuscat\t2\n",
    "relation2id.txt": "visit\t0\n",
    "train.txt": "".join(f"{i % 2}\t0\t{1 - i % 2}\t{i * 24}\t-1\n" for i in range(20_000)),
    "valid.txt": "0\t0\t2\t480000\t-1\n",
    "test.txt": "0\t0\t1\t480024\t-1\n0\t0\t2\t480024\t-1\n",
}


@dataclass
class Server:
    """What the server does, and what it was asked."""

    base: str
    breaks: list[int] = field(default_factory=list)  # bytes to send before the connection dies, one answer each
    statuses: list[int] = field(default_factory=list)  # refusals to answer first
    ranges: bool = True
    corrupt: Callable[[bytes], bytes] = bytes
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def files_asked(self) -> list[str]:
        return [path.rsplit("/", 1)[1] for path, _ in self.asked]


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            script.asked.append((self.path, wanted))
            folder, _, name = self.path.removeprefix("/mirror/").partition("/")
            if folder != "TINY_published" or name not in PUBLISHED:
                return self.send_error(404)
            if script.statuses:
                return self.send_error(script.statuses.pop(0))
            data = script.corrupt(PUBLISHED[name].encode())
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and script.ranges else 0
            if start >= len(data):
                return self.send_error(416)
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            until = start + script.breaks.pop(0) if script.breaks and name == "train.txt" else len(data)
            self.wfile.write(data[start:until])
            return None

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        script = Server(f"http://127.0.0.1:{http_server.server_address[1]}/mirror")
        thread = threading.Thread(target=http_server.serve_forever, args=(0.01,))
        thread.start()
        yield script
        http_server.shutdown()
        thread.join()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """A benchmark small enough to serve, known to the catalog as "tiny"."""
    benchmark = Benchmark(
        name="tiny",
        title="Three entities",
        folder="TINY_published",
        calendar=Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24),
        statistics=Statistics(20_000, 1, 2, 3, 1, 20_002, "day", 2, 3),
        files={
            name: {"bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for name, text in PUBLISHED.items()
        },
    )
    monkeypatch.setattr(catalog, "BENCHMARKS", {**BENCHMARKS, "tiny": benchmark})
    monkeypatch.setattr(download, "PAUSE_S", 0.001)
    return benchmark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The published files, as a user may have them."""
    (tmp_path / "given").mkdir()
    for name, text in PUBLISHED.items():
        (tmp_path / "given" / name).write_text(text, "utf-8")
    return tmp_path / "given"


def check(dataset: Dataset) -> None:
    assert dataset.name == "tiny"
    assert dataset.sizes == (20_000, 1, 2)
    assert list(dataset.entities) == ["Ashton", "Teheran", "Muscat"]
    assert dataset.facts.time[-1] == 480_024
    assert dataset.calendar.format(48) == "2014-01-03"


def test_a_benchmark_is_downloaded_checked_and_kept(
    server: Server, tiny: Benchmark, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_MIRROR", server.base + "/")
    steps: list[tuple[int, int]] = []
    check(catalog.get("tiny", progress=lambda done, total: steps.append((done, total))))
    check(catalog.load("tiny"))
    total = sum(len(text.encode()) for text in PUBLISHED.values())
    assert steps[-1] == (total, total)
    assert steps == sorted(steps), "progress never goes back when nothing breaks"
    assert len({done for done, _ in steps}) > len(PUBLISHED), "a large file reports more than once"
    assert server.asked == [(f"/mirror/TINY_published/{name}", None) for name in PUBLISHED]
    assert not (own_home / "downloads" / "tiny").exists()
    check(catalog.get("tiny"))
    assert len(server.asked) == len(PUBLISHED), "what is here is not fetched again"


def test_a_broken_transfer_goes_on_where_it_stopped(server: Server, tiny: Benchmark) -> None:
    server.breaks = [100_000, 1_000, 0, 50_000]
    check(catalog.get("tiny", mirror=server.base))
    train = [asked for path, asked in server.asked if path.endswith("train.txt")]
    assert train == [None, "bytes=100000-", "bytes=101000-", "bytes=101000-", "bytes=151000-"]


def test_a_server_without_ranges_starts_over(server: Server, tiny: Benchmark) -> None:
    server.ranges = False
    server.breaks = [100_000, 200_000]
    check(catalog.get("tiny", mirror=server.base))
    assert server.files_asked().count("train.txt") == 3


def test_a_transfer_that_keeps_breaking_is_given_up_and_resumed_later(
    server: Server, tiny: Benchmark, own_home: Path
) -> None:
    server.breaks = [70_000, 0, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match=r"train\.txt sent nothing new in 5 tries .* 70000 of \d+ bytes"):
        catalog.get("tiny", mirror=server.base)
    assert (own_home / "downloads/tiny/train.txt.part").stat().st_size == 70_000
    with pytest.raises(DatasetError, match="tiny is not here yet: get it first"):
        catalog.load("tiny")
    server.asked.clear()
    server.breaks = []
    check(catalog.get("tiny", mirror=server.base))
    assert server.asked[0] == ("/mirror/TINY_published/train.txt", "bytes=70000-"), "finished files are not asked again"


def test_wrong_bytes_are_refused_and_removed(server: Server, tiny: Benchmark, own_home: Path) -> None:
    server.corrupt = lambda data: data.replace(b"Muscat", b"Mascat")
    with pytest.raises(DownloadError) as caught:
        catalog.get("tiny", mirror=server.base)
    text = str(caught.value)
    assert "entity2id.txt" in text
    assert str(tiny.files["entity2id.txt"]["sha256"]) in text
    assert hashlib.sha256(PUBLISHED["entity2id.txt"].replace("Muscat", "Mascat").encode()).hexdigest() in text
    assert server.files_asked() == ["entity2id.txt"], "wrong bytes do not get better by asking again"
    assert not list(own_home.rglob("*.part"))
    assert not (own_home / "datasets").exists()


@pytest.mark.parametrize("corrupt", [lambda data: data + b"more", lambda data: data * 3])
def test_too_many_bytes_are_wrong_bytes(
    server: Server, tiny: Benchmark, own_home: Path, corrupt: Callable[[bytes], bytes]
) -> None:
    server.corrupt = corrupt
    with pytest.raises(DownloadError, match="wrong bytes"):
        catalog.get("tiny", mirror=server.base)
    assert not list(own_home.rglob("*.part"))


def test_a_part_longer_than_the_servers_file_starts_over(server: Server, tiny: Benchmark, own_home: Path) -> None:
    part = own_home / "downloads/tiny/train.txt.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(PUBLISHED["train.txt"].encode()[:200_000])
    server.corrupt = lambda data: data[:100_000]
    with pytest.raises(DownloadError, match="the connection was closed"):
        catalog.get("tiny", mirror=server.base)
    train = [asked for path, asked in server.asked if path.endswith("train.txt")]
    assert train[:3] == ["bytes=200000-", None, "bytes=100000-"]


@pytest.mark.parametrize("rest", [b"an older edition", PUBLISHED["train.txt"].encode()[::-1], b"x" * 1_000_000])
def test_a_bad_beginning_from_an_earlier_run_is_thrown_away(
    server: Server, tiny: Benchmark, own_home: Path, rest: bytes
) -> None:
    part = own_home / "downloads/tiny/train.txt.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(rest)
    check(catalog.get("tiny", mirror=server.base))


def test_a_complete_part_needs_no_transfer(server: Server, tiny: Benchmark, own_home: Path) -> None:
    part = own_home / "downloads/tiny/train.txt.part"
    part.parent.mkdir(parents=True)
    part.write_text(PUBLISHED["train.txt"], "utf-8")
    check(catalog.get("tiny", mirror=server.base))
    assert "train.txt" not in server.files_asked()


def test_a_busy_server_is_asked_again_a_refusing_one_is_not(server: Server, tiny: Benchmark) -> None:
    server.statuses = [503, 429, 500]
    check(catalog.get("tiny", mirror=server.base))
    assert server.files_asked().count("entity2id.txt") == 4
    shutil.rmtree(catalog.dataset_folder("tiny"))
    server.asked.clear()
    with pytest.raises(DownloadError, match=r"elsewhere/TINY_published/entity2id\.txt cannot be fetched \(HTTP 404"):
        catalog.get("tiny", mirror=server.base + "/elsewhere")
    assert len(server.asked) == 1


def test_an_answer_nobody_expects_is_given_up(server: Server, tiny: Benchmark) -> None:
    server.statuses = [204] * 9
    with pytest.raises(DownloadError, match=r"nothing new in 5 tries \(HTTP 204\)"):
        catalog.get("tiny", mirror=server.base)


def test_a_server_that_is_not_there(tiny: Benchmark) -> None:
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:9 cannot be reached \(.*refused"):
        catalog.get("tiny", mirror="http://127.0.0.1:9")
    with pytest.raises(DownloadError, match="is not an http or https address"):
        catalog.get("tiny", mirror="file:///etc")


def test_pauses_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("xerte.data.download.time.sleep", slept.append)
    with pytest.raises(DownloadError):
        download.download("http://127.0.0.1:9/x", tmp_path / "x", 1, "")
    assert slept == [0.5, 1.0, 2.0, 4.0]


def test_many_at_once_fetch_once(server: Server, tiny: Benchmark) -> None:
    results: list[Dataset] = []
    threads = [
        threading.Thread(target=lambda: results.append(catalog.get("tiny", mirror=server.base))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        check(result)
    assert sorted(server.files_asked()) == sorted(PUBLISHED)


def test_a_damaged_dataset_is_made_anew(server: Server, tiny: Benchmark) -> None:
    catalog.get("tiny", mirror=server.base)
    damaged = catalog.dataset_folder("tiny") / "facts/time.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\7")
    check(catalog.get("tiny", mirror=server.base))
    store.verify(catalog.dataset_folder("tiny"))


def test_a_folder_of_published_files_is_taken(folder: Path, tiny: Benchmark, tmp_path: Path) -> None:
    check(catalog.get("tiny", from_folder=folder, home=tmp_path / "other home"))
    check(catalog.load("tiny", home=tmp_path / "other home"))
    assert (folder / "train.txt").exists(), "the user's files stay"
    with pytest.raises(DatasetError):
        catalog.load("tiny")


def test_a_folder_that_differs_is_refused(folder: Path, tiny: Benchmark) -> None:
    (folder / "valid.txt").write_text("0\t0\t1\t480000\t-1\n", "utf-8")
    with pytest.raises(
        InputError, match=r"given/valid\.txt is not the published file .*import it under a name of your own"
    ):
        catalog.get("tiny", from_folder=folder)
    (folder / "valid.txt").unlink()
    with pytest.raises(InputError, match=r"given has no file valid\.txt: give the folder that holds entity2id\.txt"):
        catalog.get("tiny", from_folder=folder)


def test_counts_other_than_the_published_are_refused(
    folder: Path, tiny: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(tiny, statistics=replace(tiny.statistics, entities_train=3))
    monkeypatch.setattr(catalog, "BENCHMARKS", {"tiny": wrong})
    with pytest.raises(DatasetError, match=r"tiny was read as .*entities_train=2.* published as .*entities_train=3"):
        catalog.get("tiny", from_folder=folder)


def test_an_unknown_benchmark_has_close_names() -> None:
    with pytest.raises(InputError, match="ICWES14 is not a known benchmark: did you mean icews14"):
        catalog.get("ICWES14")
    with pytest.raises(InputError, match="known are icews14, icews18, icews0515, yago"):
        catalog.get("wikipedia")


def own(name: str = "mine") -> Dataset:
    facts = Facts.of([(0, 0, 1, 0), (1, 0, 0, 1), (0, 0, 1, 2)])
    steps = Calendar(Tick.STEP, "", Tick.STEP)
    return Dataset(name, facts, (1, 1, 1), Vocabulary.of(["a", "b"]), Relations.of(["r"]), steps)


def test_the_list_shows_what_is_here_and_what_could_be(folder: Path, tiny: Benchmark, own_home: Path) -> None:
    first = {listed.name: listed for listed in catalog.list_datasets()}
    assert list(first) == ["world", "icews14", "icews18", "icews0515", "yago", "tiny"]
    assert first["world"].present
    assert (first["icews14"].present, first["icews14"].facts) == (False, 90_730)
    assert not own_home.exists(), "looking creates nothing"
    catalog.get("tiny", from_folder=folder)
    assert catalog.add(own()) == own_home / "datasets" / "mine"
    catalog.add(own("broken"))
    (own_home / "datasets/broken/manifest.json").unlink()
    listed = {entry.name: entry for entry in catalog.list_datasets()}
    assert (listed["tiny"].kind, listed["tiny"].present, listed["tiny"].facts) == ("benchmark", True, 20_003)
    assert (listed["mine"].kind, listed["mine"].present, listed["mine"].facts) == ("imported", True, 3)
    assert (listed["broken"].present, listed["broken"].facts) == (False, None)
    assert "never finished" in listed["broken"].problem


def test_names_that_cannot_be_kept(own_home: Path) -> None:
    for name in ("../up", "", ".hidden", "a/b", "x" * 101, "new\nline", "a\x00"):
        with pytest.raises(InputError, match="is not a valid dataset name"):
            catalog.add(own(name))
    for name in ("world", "icews14"):
        with pytest.raises(InputError, match="is the name of a known dataset"):
            catalog.add(own(name))
    catalog.add(own("Ereignisse_2024.v1-ü"))
    with pytest.raises(InputError, match="exists already"):
        catalog.add(own("Ereignisse_2024.v1-ü"))
    catalog.add(own("Ereignisse_2024.v1-ü"), replace=True)


def test_load_finds_names_and_folders(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.add(own())
    store.save(own("elsewhere"), tmp_path / "place")
    monkeypatch.chdir(tmp_path)
    for where in ("place", "./place", str(tmp_path / "place"), Path("place")):
        assert catalog.load(where).name == "elsewhere"
    store.save(own("decoy"), tmp_path / "mine")
    assert catalog.load("mine").name == "mine", "a kept name comes before a folder"
    assert catalog.load("./mine").name == "decoy"
    assert catalog.load(Path("mine")).name == "decoy"
    with pytest.raises(DatasetError, match="icews14 is not here yet: get it first"):
        catalog.load("icews14")
    with pytest.raises(InputError, match="no dataset and no folder is called ICEWS14: did you mean icews14"):
        catalog.load("ICEWS14")
    with pytest.raises(InputError, match="called mnie: did you mean mine"):
        catalog.load("mnie")
    with pytest.raises(InputError, match="called /no/where: known are world"):
        catalog.load("/no/where")
    with pytest.raises(InputError, match="given holds text files, not a prepared dataset"):
        catalog.load(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"empty has no manifest\.json"):
        catalog.load("empty")


def test_the_world_is_always_there() -> None:
    world = catalog.load("world")
    assert world.num_entities >= 300
    assert world.num_relations >= 20


def test_the_public_home_is_the_papers_repository_at_a_fixed_commit() -> None:
    assert re.fullmatch(r"https://raw\.githubusercontent\.com/TemporalKGTeam/xERTE/[0-9a-f]{40}/tKGR/data", PUBLIC_HOME)
    for benchmark in BENCHMARKS.values():
        assert list(benchmark.files) == ["entity2id.txt", "relation2id.txt", "train.txt", "valid.txt", "test.txt"]
        assert all(re.fullmatch("[0-9a-f]{64}", entry["sha256"]) for entry in benchmark.files.values())


def test_home_is_where_the_user_says_or_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from xerte.home import home_folder

    assert home_folder(tmp_path) == tmp_path
    monkeypatch.setenv("XERTE_HOME", "~/kept")
    assert home_folder() == Path.home() / "kept"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"^XERTE_HOME is .*file, which is a file: set it to a folder"):
        home_folder()
    monkeypatch.delenv("XERTE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert home_folder().name == "xerte"


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_published_files_are_taken_as_they_are(benchmarks: Path, name: str) -> None:
    dataset = catalog.get(name, from_folder=benchmarks / name)
    assert dataset.name == name
    first = {"icews14": "2014-01-01", "icews18": "2018-01-01", "icews0515": "2005-01-01", "yago": "1830"}
    assert dataset.calendar.format(int(dataset.facts.time[0])) == first[name]
