"""Real tables of dated events, each made from a file of a public repository; none of them is kept here."""

import csv
import io
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from xerte.errors import InputError

Row = tuple[str, str, str, str]
"""Subject, relation, object, date."""
COLUMNS = ("subject", "relation", "object", "date")
_ACTION = {2: "threatens", 3: "displays force against", 4: "uses force against", 5: "is at war with"}
_COMMIT = re.compile(r"@(\d{4}-\d\d-\d\d)\|(.*)")


@dataclass(frozen=True)
class Repository:
    """A clone, bare or not, read with git at one commit.

    Attributes:
        folder: where its git directory is.
        commit: what is read.
    """

    folder: Path
    commit: str

    def file(self, path: str) -> str:
        """The text of a file."""
        return self._git("show", f"{self.commit}:{path}")

    def log(self) -> str:
        """Day, author and changed files of every commit, merges left out."""
        return self._git("log", self.commit, "--no-merges", "--format=@%as|%an", "--name-only")

    def _git(self, *arguments: str) -> str:
        git = shutil.which("git") or "git"
        done = subprocess.run([git, "-C", str(self.folder), *arguments], capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            raise InputError(f"{self.folder} cannot be read at {self.commit[:10]}: clone it anew")
        return done.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class Source:
    """Where a table comes from and how it is made.

    Attributes:
        about: who does what to whom, for people.
        repository: owner/name on GitHub.
        commit: the one that was read.
        rows: what becomes of it.
    """

    about: str
    repository: str
    commit: str
    rows: Callable[[Repository], Iterator[Row]]

    def read(self, clones: Path) -> list[Row]:
        """The table, in order of time.

        Args:
            clones: a folder that holds a clone of the repository as owner+name.

        Raises:
            InputError: it does not.
        """
        folder = clones / self.repository.replace("/", "+")
        # A clone, a bare one, or either inside a folder of the repository's name.
        places = (folder / ".git", folder, folder / "repo" / ".git", folder / "repo")
        found = next((place for place in places if (place / "objects").is_dir()), None)
        if found is None:
            raise InputError(f"{folder} is no clone: git clone --bare https://github.com/{self.repository} {folder}")
        return sorted(set(self.rows(Repository(found, self.commit))), key=lambda row: (row[3], row))


def _records(text: str) -> Iterator[Mapping[str, str]]:
    return csv.DictReader(io.StringIO(text))


def _football(repository: Repository, since: str) -> Iterator[Row]:
    for one in _records(repository.file("results.csv")):
        if one["date"] >= since and one["home_score"] not in ("", "NA"):
            yield one["home_team"], one["tournament"], one["away_team"], one["date"]


def _shootouts(repository: Repository) -> Iterator[Row]:
    for one in _records(repository.file("shootouts.csv")):
        home, away, winner = one["home_team"], one["away_team"], one["winner"]
        yield winner, "beats on penalties", away if winner == home else home, one["date"]


def _tennis(repository: Repository, years: range) -> Iterator[Row]:
    for year in years:
        for one in _records(repository.file(f"atp_matches_{year}.csv")):
            day = one["tourney_date"]
            date = f"{day[:4]}-{day[4:6]}-{day[6:]}"
            yield one["winner_name"], f"beats on {one['surface'] or 'unknown'}", one["loser_name"], date


def _disputes(repository: Repository, since: int) -> Iterator[Row]:
    for one in _records(repository.file("dyadic_mid_4.02.csv")):
        action = _ACTION.get(int(one["hihosta"]))
        if action and int(one["strtyr"]) >= since:
            day = max(1, int(one["strtday"]))  # -9: not known
            yield one["namea"], action, one["nameb"], f"{one['strtyr']}-{int(one['strtmnth']):02}-{day:02}"


def _arms(repository: Repository, since: int) -> Iterator[Row]:
    for one in _records(repository.file("raw_data/trade-register.csv")):
        if one["Year of order"].isdigit() and int(one["Year of order"]) >= since:
            yield one["Recipient"], f"orders {one['Weapon description']} from", one["Supplier"], one["Year of order"]


def _messages(repository: Repository, until: str) -> Iterator[Row]:
    for line in repository.file("CollegeMsg.txt").splitlines()[1:]:
        sender, receiver, moment = line.split()
        day = datetime.fromtimestamp(int(moment), UTC).date().isoformat()
        if day < until:
            yield f"student {sender}", "writes to", f"student {receiver}", day


def _trust(repository: Repository, until: str) -> Iterator[Row]:
    for one in _records(repository.file("data/raw/soc-sign-bitcoinotc.csv")):
        day = datetime.fromtimestamp(float(one["TIME_SINCE_EPOCH"]), UTC).date().isoformat()
        if day < until:
            says = "trusts" if float(one["TRUST_INDEX"]) > 0 else "distrusts"
            yield f"trader {one['FROM_NODE']}", says, f"trader {one['TO_NODE']}", day


def _polls(repository: Repository) -> Iterator[Row]:
    for one in _records(repository.file("pollster-ratings/2023/raw-polls.csv")):
        month, day, year = one["polldate"].split("/")
        yield one["pollster"], f"polls {one['type_simple']} in", one["location"], f"{year}-{month:0>2}-{day:0>2}"


def _commits(repository: Repository, since: str, until: str, folders: int = 0) -> Iterator[Row]:
    """Changed files or, where their depth is given, the folders that they lie in."""
    author = day = ""
    for line in repository.log().splitlines():
        if head := _COMMIT.fullmatch(line):
            day, author = head.groups()
        elif line and since <= day < until:
            folder = "/".join(line.split("/")[:-1][:folders]) or "the top folder"
            yield author, "changes", folder if folders else line, day


SOURCES = {
    "football": Source(
        "national teams host each other in a tournament, since 2012",
        "martj42/international_results",
        "65d212aac5deec5157071dcf6e9b05fce0223c84",
        partial(_football, since="2012-01-01"),
    ),
    "shootouts": Source(
        "national teams beat each other on penalties",
        "martj42/international_results",
        "65d212aac5deec5157071dcf6e9b05fce0223c84",
        _shootouts,
    ),
    "tennis": Source(
        "players beat each other on a surface, ATP 2020 to 2024",
        "JeffSackmann/tennis_atp",
        "5b6263dc487b4fa4fa35326764bc9b0215042a42",
        partial(_tennis, years=range(2020, 2025)),
    ),
    "disputes": Source(
        "states threaten, show or use force, since 1946 (Correlates of War)",
        "ECE-143-FA-2022/Militarized_interstate_disputes",
        "5866b597d3670846f449046466db1cc7f2ea83a8",
        partial(_disputes, since=1946),
    ),
    "arms": Source(
        "states order weapons from states, since 1990 (SIPRI)",
        "ClaytonB-3/arms-trade-proj",
        "2245f4f63efee9de822778c5fb15b2627f16a3d2",
        partial(_arms, since=1990),
    ),
    "messages": Source(
        "students write to each other, spring of 2004 (CollegeMsg)",
        "advaithhl/temporal_graph_clustering",
        "1c0aafaf5de167981649228e5953779afed6126b",
        partial(_messages, until="2004-05-16"),
    ),
    "trust": Source(
        "traders of bitcoins rate each other, until 2012 (Bitcoin OTC)",
        "luizamfsantos/Bitcoin-Trust-Analysis",
        "3b1a5766a3b3bd2d9ee50dd1a3f6950c259c4516",
        partial(_trust, until="2012-07-01"),
    ),
    "polls": Source(
        "pollsters poll American elections in a state, since 1998",
        "fivethirtyeight/data",
        "fcf572c4fba05a42f1f34f415bd5e6dc389efd68",
        _polls,
    ),
    "commits": Source(
        "programmers change files of requests, 2011 to 2014",
        "psf/requests",
        "1f6589ec3a1ee910f9a65cc3ceac60b26677bc0e",
        partial(_commits, since="2011-01-01", until="2015-01-01"),
    ),
    "folders": Source(
        "programmers change folders of NumPy, 2016 to 2025",
        "numpy/numpy",
        "1f90bbb55e65e7de68921bc3f1a2d94492fdf689",
        partial(_commits, since="2016-01-01", until="2026-01-01", folders=2),
    ),
    "letters": Source(
        "students write to each other, April to October 2004 (CollegeMsg, all of it)",
        "advaithhl/temporal_graph_clustering",
        "1c0aafaf5de167981649228e5953779afed6126b",
        partial(_messages, until="2005-01-01"),
    ),
}
