"""Files of questions in, files of answers out."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from xerte.api.forecast import Forecast, Question
from xerte.errors import InputError
from xerte.files import replacing

COLUMNS = ("subject", "relation", "time")
ANSWER_COLUMNS = (
    "question", "subject", "relation", "object", "time", "place", "entity", "score", "reached", "notes"
)  # fmt: skip


def read_questions(path: Path) -> list[Question]:
    """The questions in a CSV, TSV, JSON lines or Parquet file (the first three gzipped, too).

    Columns: subject, relation, time and maybe object. "?" or nothing stands for what is asked.

    Raises:
        InputError: the file cannot be read, or a row is not a question; file and line are named.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    questions = []
    try:
        for line, row in _rows(path):
            missing = [column for column in COLUMNS[1:] if not row.get(column)]
            if missing:
                raise InputError(f"{path}, line {line}: no {missing[0]} is given (needed: {', '.join(COLUMNS)})")
            try:
                questions.append(Question.of(row))
            except InputError as error:
                raise error.at(f"{path}, line {line}") from None
    except (UnicodeDecodeError, csv.Error, OSError, EOFError, json.JSONDecodeError) as error:
        raise InputError(f"{path} cannot be read as {_kind(path)}: {error}") from None
    if not questions:
        raise InputError(f"{path} holds no questions: give columns {', '.join(COLUMNS)} and at least one row")
    return questions


def read_names(path: Path) -> list[str]:
    """One name per line; empty lines do not count."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a list of names: {error}") from None
    return [line for line in lines if line.strip()]


def write_answers(path: Path, forecasts: Sequence[Forecast]) -> None:
    """Writes answers as Parquet, CSV, TSV or JSON lines, by suffix; the file appears whole or not at all.

    Parquet, CSV and TSV hold one row per answer (a question without answers keeps one row, with an empty entity);
    JSON lines one forecast per line, as `xerte forecast --json` prints it.
    """
    kind = _kind(path)
    with replacing(path) as new:
        if kind == "Parquet":
            _write_parquet(new, list(_answer_rows(forecasts)))
        else:
            with _open(new, "wt", packed=path.suffix == ".gz") as file:
                _write_text(file, kind, forecasts)


def _kind(path: Path) -> str:
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    kinds = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet"}
    if suffix not in kinds or (path.suffix == ".gz" and kinds[suffix] == "Parquet"):
        raise InputError(f"{path.name}: choose a name that ends in .csv, .tsv, .jsonl or .parquet")
    return kinds[suffix]


def _open(path: Path, mode: str, packed: bool) -> IO[Any]:
    if packed:
        return cast(IO[Any], gzip.open(path, mode, encoding="utf-8", newline=""))
    return path.open(mode.replace("t", ""), encoding="utf-8", newline="")


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """(line, row) with every value as text."""
    kind = _kind(path)
    if kind == "Parquet":
        yield from enumerate(_read_parquet(path), 1)
        return
    with _open(path, "rt", packed=path.suffix == ".gz") as file:
        if kind == "JSON lines":
            for line, text in enumerate(file, 1):
                if text.strip():
                    row = json.loads(text)
                    if not isinstance(row, dict):
                        raise InputError(f"{path}, line {line}: not a JSON object with {', '.join(COLUMNS)}")
                    yield line, _texts(row)
            return
        reader = csv.DictReader(file, delimiter="\t" if kind == "TSV" else ",", strict=True)
        absent = [column for column in COLUMNS[1:] if column not in (reader.fieldnames or ())]
        if absent:
            raise InputError(f"{path} has no column {absent[0]}: its first line must name {', '.join(COLUMNS)}")
        for row in reader:
            yield reader.line_num, _texts(row)


def _texts(row: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in row.items() if value is not None}


def _read_parquet(path: Path) -> Iterator[Mapping[str, str]]:
    import duckdb

    try:
        relation = duckdb.connect().read_parquet(str(path))
        names, rows = relation.columns, relation.fetchall()
    except duckdb.Error as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    for row in rows:
        yield _texts(dict(zip(names, row, strict=True)))


def _answer_rows(forecasts: Sequence[Forecast]) -> Iterator[tuple[Any, ...]]:
    for count, forecast in enumerate(forecasts, 1):
        asked = forecast.question
        head = (count, asked.subject, asked.relation, asked.object, asked.time)
        notes = "; ".join(forecast.notes)
        for place, answer in enumerate(forecast.answers, 1):
            yield (*head, place, answer.entity, answer.score, answer.reached, notes)
        if not forecast.answers:
            yield (*head, 0, "", 0.0, False, notes)


def _write_text(file: IO[str], kind: str, forecasts: Sequence[Forecast]) -> None:
    if kind == "JSON lines":
        file.writelines(json.dumps(forecast.to_json(), ensure_ascii=False) + "\n" for forecast in forecasts)
        return
    writer = csv.writer(file, delimiter="\t" if kind == "TSV" else ",", lineterminator="\n")
    writer.writerow(ANSWER_COLUMNS)
    writer.writerows(_answer_rows(forecasts))


def _write_parquet(path: Path, rows: Sequence[tuple[Any, ...]]) -> None:
    import duckdb

    types = (np.int64, object, object, object, object, np.int64, object, np.float64, bool, object)
    columns = zip(ANSWER_COLUMNS, zip(*rows, strict=True), types, strict=True)
    connection = duckdb.connect()
    connection.register("answers", {name: np.array(column, dtype) for name, column, dtype in columns})
    connection.table("answers").write_parquet(str(path))
