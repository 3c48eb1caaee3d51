"""Numbers in sentences. Needs nothing, so that commands may load it at once."""

LEAST_PERCENT = 0.0005
"""What is less rounds to 0.0 %."""


def percent(probability: float) -> str:
    """One place behind the point, and never 0 or 100 of what is neither: "13.8 %", "< 0.1 %", "> 99.9 %"."""
    if 0 < probability < LEAST_PERCENT:
        return "< 0.1 %"
    return "> 99.9 %" if 1 - LEAST_PERCENT < probability < 1 else f"{100 * probability:.1f} %"


def between(probability: float, reliability: float | None) -> str:
    """Where a probability lies, give or take its reliability, within 0 and 100 %: "46.0–57.4 %"; "" where none is."""
    if reliability is None:
        return ""
    low, high = max(0.0, probability - reliability), min(1.0, probability + reliability)
    if high < LEAST_PERCENT:
        return percent(high)
    return f"{100 * low:.1f}–{100 * high:.1f} %"


def counted(number: int, one: str = "fact", many: str = "") -> str:
    """So many facts, or of what else there is one or many: "1 fact", "1,968 facts", "2 entities"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def readable(name: str) -> str:
    """An entity's name as people write it: <Beverly_Adams> -> Beverly Adams; other names stay as they are."""
    if len(name) > 2 and name.startswith("<") and name.endswith(">"):
        return name[1:-1].replace("_", " ")
    return name
