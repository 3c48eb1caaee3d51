"""What may come of an input: a result, or one sentence in time."""

import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from xerte.cli.hints import sentence
from xerte.errors import LONGEST_MESSAGE, XerteError, escaped

SLOW_S = 10.0
HANG_S = 60
_LONGEST = 5000
"""Letters of a message before the command line shortens it: what takes memory and logs."""
_FOUND = 20


class Hang(BaseException):
    """An input took longer than anybody waits."""


class WrongError(Exception):
    """A result that cannot be true."""


@dataclass
class Record:
    """What came of a target's inputs.

    Attributes:
        inputs: how many there were.
        outcomes: how many ended how: result, remade (what was damaged), sentence, or a fault: traceback, unfit (more
            than one short line, or a sign that steers a terminal), long, slow, hang, wrong.
        sentences: the kinds of sentences, by their error's code.
        faults: the first of them, each with what repeats it.
    """

    inputs: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, str]] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """How many faults were found."""
        return sum(count for kind, count in self.outcomes.items() if kind not in ("result", "remade", "sentence"))

    def fault(self, kind: str, input: str, text: str, place: str = "") -> None:
        """Note a fault; of those at one place the first is kept."""
        self.outcomes[kind] += 1
        known = {(fault["kind"], fault["place"]) for fault in self.faults}
        if len(self.faults) < _FOUND and (not place or (kind, place) not in known):
            self.faults.append({"kind": kind, "place": place, "input": input[:400], "text": text[-400:]})

    def to_json(self) -> dict[str, Any]:
        """For the record of a run."""
        return {
            "inputs": self.inputs,
            "seconds": round(self.seconds, 1),
            "outcomes": dict(sorted(self.outcomes.items())),
            "sentences": dict(self.sentences.most_common()),
            "faults": self.faults,
        }


def judge(record: Record, input: str, run: Callable[[], object]) -> None:
    """Run one input and note what came of it.

    Args:
        record: of its target.
        input: what repeats it.
        run: returns where there is a result, or how it ended ("sentence", "remade"); raises XerteError where there is a
            sentence, WrongError where it is false.
    """
    record.inputs += 1
    begun, busy = time.perf_counter(), time.process_time()
    try:
        with _alarm(), warnings.catch_warnings():
            warnings.simplefilter("error")
            ended = run()
        record.outcomes[ended if isinstance(ended, str) else "result"] += 1
    except XerteError as error:
        record.sentences[error.code] += 1
        text = f"xerte: {sentence(error)}"
        if len(text) > LONGEST_MESSAGE or escaped(text) != text or len(text.splitlines()) != 1:
            record.fault("unfit", input, text)
        elif len(str(error)) > _LONGEST:
            record.fault("long", input, str(error))
        else:
            record.outcomes["sentence"] += 1
    except Hang:
        record.fault("hang", input, f"more than {HANG_S} s")
    except WrongError as error:
        record.fault("wrong", input, str(error))
    except (Exception, SystemExit) as error:
        ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "xerte" in frame.filename]
        last = ours[-1] if ours else traceback.extract_tb(error.__traceback__)[-1]
        place = f"{'/'.join(last.filename.split('/')[-2:])}:{last.lineno}"
        record.fault("traceback", input, f"{type(error).__name__}: {error}", place)
    record.seconds += time.perf_counter() - begun
    took = time.process_time() - busy  # of this process: others may keep the machine busy
    if SLOW_S < took < HANG_S:
        record.fault("slow", input, f"{took:.1f} s")


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
