"""Files of questions in, files of answers out."""

import errno
import gzip
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from xerte.api.forecast import Forecast, Question
from xerte.data.lines import read_rows
from xerte.errors import InputError
from xerte.files import FULL, cells, replacing

COLUMNS = ("subject", "relation", "time")
ANSWER_COLUMNS = (
    "question", "subject", "relation", "object", "time", "place", "entity", "score", "reached", "notes", "probability"
)  # fmt: skip


def read_questions(path: Path) -> list[Question]:
    """The questions in a table of any format that events may have.

    Columns: subject, relation, time and maybe object. "?" or nothing stands for what is asked.

    Raises:
        InputError: the file cannot be read, or a row is not a question; file and line are named.
    """
    questions = []
    for line, row in read_rows(path, COLUMNS[1:], (COLUMNS[0], "object")):
        missing = [column for column in COLUMNS[1:] if not row.get(column)]
        if missing:
            raise InputError(f"{path}, line {line}: no {missing[0]} is given (needed: {', '.join(COLUMNS)})")
        try:
            questions.append(Question.of(row))
        except InputError as error:
            raise error.at(f"{path}, line {line}") from None
    if not questions:
        raise InputError(f"{path} holds no questions: give columns {', '.join(COLUMNS)} and at least one row")
    return questions


def read_names(path: Path) -> list[str]:
    """One name per line; empty lines do not count."""
    if not path.exists():
        raise InputError(f"{path} does not exist", hint="give a file with one name per line")
    if not path.is_file():
        raise InputError(f"{path} cannot be read as a list of names: it is not a regular file")
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a list of names: {error}") from None
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def write_answers(path: Path, forecasts: Sequence[Forecast], neutral: bool = True) -> None:
    """Writes answers as Parquet, CSV, TSV or JSON lines, by suffix; the file appears whole or not at all.

    Parquet, CSV and TSV hold one row per answer (a question without answers keeps one row, with an empty entity);
    JSON lines one forecast per line, as `xerte forecast --json` prints it. In CSV and TSV a name that a spreadsheet
    would take for a formula (= + - @) gets an apostrophe before it, unless `neutral` is false.
    """
    kind = _kind(path)
    with replacing(path) as new:
        if kind == "Parquet":
            _write_parquet(new, list(_answer_rows(forecasts)))
        else:
            with _open(new, "wt", packed=path.suffix == ".gz") as file:
                _write_text(file, kind, forecasts, neutral)


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


def _answer_rows(forecasts: Sequence[Forecast]) -> Iterator[tuple[Any, ...]]:
    for count, forecast in enumerate(forecasts, 1):
        asked = forecast.question
        head = (count, asked.subject, asked.relation, asked.object, asked.time)
        notes = "; ".join(forecast.notes)
        for place, answer in enumerate(forecast.answers, 1):
            yield (*head, place, answer.entity, answer.score, answer.reached, notes, _number(answer.probability))
        if not forecast.answers:
            yield (*head, 0, "", 0.0, False, notes, np.nan)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _write_text(file: IO[str], kind: str, forecasts: Sequence[Forecast], neutral: bool) -> None:
    if kind == "JSON lines":
        file.writelines(json.dumps(forecast.to_json(), ensure_ascii=False) + "\n" for forecast in forecasts)
        return
    delimiter = "\t" if kind == "TSV" else ","
    file.writelines(cells(row, delimiter, neutral) for row in (ANSWER_COLUMNS, *_answer_rows(forecasts)))


def _write_parquet(path: Path, rows: Sequence[tuple[Any, ...]]) -> None:
    import duckdb

    types = (np.int64, object, object, object, object, np.int64, object, np.float64, bool, object, np.float64)
    columns = zip(ANSWER_COLUMNS, zip(*rows, strict=True), types, strict=True)
    connection = duckdb.connect()
    connection.register("answers", {name: np.array(column, dtype) for name, column, dtype in columns})
    try:
        connection.table("answers").write_parquet(str(path), use_tmp_file=False)  # it is one already, which is swept
    except duckdb.IOException as error:  # duckdb words what the system said, and more
        reasons = {code: os.strerror(code) for code in FULL}
        code = next((code for code, reason in reasons.items() if reason in str(error)), errno.EIO)
        raise OSError(code, reasons[code], str(path)) from None
