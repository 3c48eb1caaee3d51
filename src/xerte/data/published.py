"""The paper's four benchmarks as published: calendar, the paper's counts, size and checksum of every file."""

from collections.abc import Mapping
from dataclasses import dataclass

from xerte.data.calendar import Calendar, Tick
from xerte.data.folder import FileEntry
from xerte.data.statistics import Statistics

PUBLIC_HOME = (
    "https://raw.githubusercontent.com/TemporalKGTeam/xERTE/d7a55d1c692cc97cdff8dde131093217dc6ea082/tKGR/data"
)
"""The repository the paper names, at a fixed commit."""


@dataclass(frozen=True)
class Benchmark:
    """A published dataset.

    Attributes:
        name: what the program calls it.
        title: what it is, for people.
        folder: the folder of its files in the public repository.
        calendar: what its times mean.
        statistics: the paper's counts.
        files: every file with its size and checksum.
    """

    name: str
    title: str
    folder: str
    calendar: Calendar
    statistics: Statistics
    files: Mapping[str, FileEntry]


def _icews(origin: str) -> Calendar:
    return Calendar(Tick.HOUR, origin, Tick.DAY, 24)


_ALL = (
    Benchmark(
        name="icews14",
        title="Political events of 2014 (ICEWS)",
        folder="ICEWS14_forecasting",
        calendar=_icews("2014-01-01"),
        statistics=Statistics(63685, 13823, 13222, 7128, 230, 365, "day", 6180, 6710),
        files={
            "entity2id.txt": {
                "bytes": 198041,
                "sha256": "703678935d28c068a79fd2f8ac5ae2c54306f2ad03268a058d9a448fde9f59e3",
            },
            "relation2id.txt": {
                "bytes": 7626,
                "sha256": "0a56e88458482f1457d45004d79b09217ff016a2d5a7f1bc947735b51886ec07",
            },
            "train.txt": {
                "bytes": 1176931,
                "sha256": "f1afca58a2537b323ab97ea237b865403f65a94b2e393807c2542338d0603da2",
            },
            "valid.txt": {
                "bytes": 258584,
                "sha256": "96ecf52a26b5b3af86836ddaaba57b0d1c05239c269dfc6c9e9893bde456baab",
            },
            "test.txt": {
                "bytes": 248450,
                "sha256": "0156d01b465fbfeebd65182155fa3b981131a731cf2669b3bd2512c8ac57d7c6",
            },
        },
    ),
    Benchmark(
        name="icews18",
        title="Political events of January to October 2018 (ICEWS)",
        folder="ICEWS18_forecasting",
        calendar=_icews("2018-01-01"),
        statistics=Statistics(373018, 45995, 49545, 23033, 256, 304, "day", 21085, 21995),
        files={
            "entity2id.txt": {
                "bytes": 674797,
                "sha256": "7d247def04f9e0a70b986da665fce498ef2057779842dd83af1df3df5c5e6d74",
            },
            "relation2id.txt": {
                "bytes": 8772,
                "sha256": "6099be14a4bb517019146818704858af040843df4caa77b816552223330dcb49",
            },
            "train.txt": {
                "bytes": 8673522,
                "sha256": "019cfba096e15abae04e8d8d6f4dbeda2add15f53826681702f25298a9fbc7bf",
            },
            "valid.txt": {
                "bytes": 1077693,
                "sha256": "aa9966e928768ad3a9fd28c7fe2c078458ec1caa523fc0ddf9d0a38ece349c50",
            },
            "test.txt": {
                "bytes": 1162970,
                "sha256": "a00d46f993557cf78a8823b0c3a7b3b135f40ffa74150ee8f795794e2b536e33",
            },
        },
    ),
    Benchmark(
        name="icews0515",
        title="Political events of 2005 to 2015 (ICEWS)",
        folder="ICEWS0515_forecasting",
        calendar=_icews("2005-01-01"),
        statistics=Statistics(322958, 69224, 69147, 10488, 251, 4017, "day", 8853, 9792),
        files={
            "entity2id.txt": {
                "bytes": 300129,
                "sha256": "56c1b737f7eca0dfcb635c60e32843accaaea99765884c6958ec2f10099c71f5",
            },
            "relation2id.txt": {
                "bytes": 8521,
                "sha256": "81a0b73b7b2bdbe145e6c9ceabd876ea5113c96ac8715dc1aa4280816f3b4536",
            },
            "train.txt": {
                "bytes": 6165292,
                "sha256": "21a1ae498bb1dbda7b9f7b862a9f11273cf908c39d86bb34a2d55c28a900a0c5",
            },
            "valid.txt": {
                "bytes": 1352633,
                "sha256": "61ae7a1ca3a54b810ddd403320d99ace02754d1eeb58d6011925b37d36d4357b",
            },
            "test.txt": {
                "bytes": 1355926,
                "sha256": "951d1dea0e21c41e7240e76c874051f4bc59513fd6b9d75f3b929db9dbfc5294",
            },
        },
    ),
    Benchmark(
        name="yago",
        title="Facts about people and places by year, from 1830 (YAGO)",
        folder="YAGO1830",
        calendar=Calendar(Tick.YEAR, "1830", Tick.YEAR),
        statistics=Statistics(51205, 10973, 10973, 10038, 10, 194, "year", 7904, 9008),
        files={
            "entity2id.txt": {
                "bytes": 247494,
                "sha256": "9ec26a13f86cdb8a94fa6f7580043e8ae8dde28ba277986c132018689f8d5a53",
            },
            "relation2id.txt": {
                "bytes": 140,
                "sha256": "83e460205fa11720980c814aa99d70b4ec42ff9571f7ce9915390e262fc8dc34",
            },
            "train.txt": {
                "bytes": 947222,
                "sha256": "f1db50e22daea01f8aacf743c84102e2dbb28244217ed947aa5a2f51c3cd1a24",
            },
            "valid.txt": {
                "bytes": 206279,
                "sha256": "dd06707832e69d19810c478ccba1fbe78652347e2a4d3f71dc73181f90d548b1",
            },
            "test.txt": {
                "bytes": 206462,
                "sha256": "b333d543c1a21eeb427b337cedfd925a8fc51147e175257994c84e1887665fdb",
            },
        },
    ),
)
BENCHMARKS: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}
