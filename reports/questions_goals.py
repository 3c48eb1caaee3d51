"""Which goals of questions a record meets."""

from enum import StrEnum
from math import sqrt
from typing import Any

KINDS = ("pairs that met", "everything")
"""The kinds of questions that goals speak of."""
BENCHMARKS = ("icews14", "icews0515", "icews18", "yago")
SKILL, ECE, MANY = 0.25, 0.02, 20_000
"""Skill over climatology; calibration error, where so many questions were asked."""
_HELD = 0.9
FEWEST = 10
"""Of fewer that came true nothing is decided: resampling them tells nothing."""


class Verdict(StrEnum):
    """Of a goal; undecided where the interval of what was measured holds it."""

    MET = "met"
    UNDECIDED = "undecided"
    MISSED = "missed"


def judged(goal: float, value: float, low: float, high: float) -> Verdict:
    """Of a value that shall exceed a goal, by its 95 % interval."""
    if low > goal:
        return Verdict.MET
    return Verdict.UNDECIDED if max(value, high) > goal else Verdict.MISSED


def at_most(value: float, goal: float) -> Verdict:
    """Of a value that shall not exceed a goal."""
    return Verdict.MET if value <= goal else Verdict.MISSED


def calibrated(check: dict[str, Any]) -> Verdict:
    """Of a calibration error: at most 0.02 of many questions, else what 95 of 100 perfect forecasters stay below."""
    return at_most(check["ece"], ECE if check["questions"] >= MANY else check["ece_of_chance"])


def between(value: float, low: float, high: float) -> Verdict:
    """Of a value that shall lie between two."""
    return Verdict.MET if low <= value <= high else Verdict.MISSED


def horizon_verdicts(one: dict[str, Any]) -> tuple[Verdict, Verdict, Verdict]:
    """Of skill over climatology, over recency-frequency, and calibration, which counts only beside skill.

    Where hardly any came true nothing is decided: resampling them tells nothing.
    """
    if round(one["happened"] * one["questions"]) < FEWEST:
        return Verdict.UNDECIDED, Verdict.UNDECIDED, Verdict.UNDECIDED
    skill = judged(SKILL, one["skill"], one["skill_low"], one["skill_high"])
    over = judged(0.0, one["over_recency"], one["over_recency_low"], one["over_recency_high"])
    ece = calibrated(one) if one["skill"] > 0 else Verdict.MISSED
    return skill, over, ece


def set_verdicts(
    dataset: str, check: dict[str, Any], usual: dict[str, Any] | None
) -> tuple[Verdict, Verdict, Verdict | None]:
    """Of first answers' calibration, what 90 % sets hold, and whether they are smaller than recurrence's.

    On the benchmarks sets shall hold 88–92 %, elsewhere 90 ± 1 ± 2 standard errors. Recurrence is not compared with
    itself.
    """
    wide = 0.02 if dataset in BENCHMARKS else 0.01 + 2 * sqrt(_HELD * (1 - _HELD) / max(1, check["questions"]))
    smaller = None if usual is None else (Verdict.MET if check["size"] < usual["size"] else Verdict.MISSED)
    return calibrated(check), between(check["coverage"], _HELD - wide, _HELD + wide), smaller


def time_verdict(one: dict[str, Any]) -> Verdict:
    """Of the median's error, which shall be less than the mean gap's."""
    if one["events"] < FEWEST:
        return Verdict.UNDECIDED
    return judged(0.0, one["less"], one["less_low"], one["less_high"])
