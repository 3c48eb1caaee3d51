"""Questions of many clients, answered in one batch: company never changes an answer, and a batch costs less than its
questions one by one.

A lone question does not wait for company. After a large batch its clients ask again within milliseconds of each other:
the next batch waits for most of them, but never long.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from xerte.api.forecast import Forecast, Question
from xerte.api.model import Model

Result = TypeVar("Result")
_SMALL = 100
"""Questions for at most this many answers share a batch: the longest list is made for all of them."""

_DATASETS = 2
"""Of so many, rates answer at once; those of one dataset answer one question at a time."""

_PATIENCE_S = 0.03
_LOOK_S = 0.001


@dataclass(frozen=True)
class _Waiting:
    model: Model
    question: Question
    top: int
    tell: Callable[[Forecast], Any]
    answer: "asyncio.Future[Any]"

    @property
    def company(self) -> tuple[int, bool]:
        """What questions of one batch have in common."""
        return id(self.model), self.top <= _SMALL


def _as_it_is(answer: Forecast) -> Forecast:
    return answer


class Batcher:
    """Collects questions on the event loop and answers them on threads of their own; what takes long runs on another.

    Args:
        largest: the most questions of one batch. More cost no less each, and while some are answered, others can be
            read and written.
        observe: called with the size of every batch.
        at_once: so many batches are answered at once, each on its thread.
    """

    def __init__(self, largest: int = 32, observe: Callable[[int], None] | None = None, at_once: int = 1) -> None:
        self._largest, self._observe = largest, observe
        self._queue: deque[_Waiting] = deque()
        self._threads, self._free = ThreadPoolExecutor(at_once, "forecasts"), asyncio.Semaphore(at_once)
        self._aside = ThreadPoolExecutor(1, "explanations")
        self._counting = ThreadPoolExecutor(_DATASETS, "rates")
        self._turn: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()
        self._last, self._one_refreshes = 0, Lock()

    def __len__(self) -> int:
        return len(self._queue)

    async def ask(self, model: Model, question: Question, top: int) -> Forecast:
        """The answer to one question; cancelled, it is not asked any more.

        Raises:
            XerteError: the question cannot be answered.
        """
        return await self.put(model, question, top, _as_it_is)

    def put(
        self, model: Model, question: Question, top: int, tell: Callable[[Forecast], Result]
    ) -> "asyncio.Future[Result]":
        """The answer to come, as `tell` puts it on the thread of its batch; likewise."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(model, question, top, tell, answer))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.create_task(self._work())
        return answer

    async def copy(self, model: Model) -> Model:
        """A model of one's own over the same weights: it reads what is appended when it is asked, and nobody else
        refreshes it meanwhile.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._own, model)

    def _own(self, model: Model) -> Model:
        with self._one_refreshes:
            return model.snapshot()

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Something that takes long, one at a time, while batches go on; it needs a model of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work)

    async def counted(self, work: Callable[[], Result]) -> Result:
        """Something for rates, which wait for each other and, the first time, until they are fitted: whoever waits
        here keeps no thread from names, events and pages.
        """
        return await asyncio.get_running_loop().run_in_executor(self._counting, work)

    async def stop(self) -> None:
        """Answers what is waiting, then ends the threads."""
        if self._turn is not None:
            await asyncio.gather(self._turn, return_exceptions=True)
        await asyncio.gather(*self._batches, return_exceptions=True)
        self._threads.shutdown()
        self._aside.shutdown(cancel_futures=True)
        self._counting.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        while True:
            await self._free.acquire()
            if not await self._company() or not (batch := self._next()):
                self._free.release()
                return
            self._last = len(batch)
            task = asyncio.create_task(self._answer(batch))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _answer(self, batch: list[_Waiting]) -> None:
        try:
            outcome = await asyncio.get_running_loop().run_in_executor(self._threads, self._answered, batch)
        finally:
            self._free.release()
        if self._observe is not None:
            self._observe(len(batch))
        for one, answer in zip(batch, outcome, strict=True):
            if one.answer.done():  # its client has gone
                continue
            if isinstance(answer, Exception):
                one.answer.set_exception(answer)
            else:
                one.answer.set_result(answer)

    def _answered(self, batch: Sequence[_Waiting]) -> list[Any]:
        """What is told of every question of a batch, or why not; where the batch fails, each is asked alone, so that
        one mistake or one bad question spoils nothing else.
        """
        try:
            model = self._own(batch[0].model)
            answers = model.forecast_many([one.question for one in batch], max(one.top for one in batch))
            return [one.tell(answer.first(one.top)) for one, answer in zip(batch, answers, strict=True)]
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [answer for one in batch for answer in self._answered([one])]

    async def _company(self) -> bool:
        """Waits for as many questions as lately came together; whether there are any."""
        end = time.monotonic() + _PATIENCE_S
        while len(self._queue) < 0.75 * self._last and time.monotonic() < end:
            await asyncio.sleep(_LOOK_S)
        return bool(self._queue)

    def _next(self) -> list[_Waiting]:
        """The questions to one model that have waited longest, those left out whose clients have gone."""
        batch: list[_Waiting] = []
        later: list[_Waiting] = []
        while self._queue and len(batch) < self._largest:
            one = self._queue.popleft()
            if one.answer.done():
                continue
            (batch if not batch or one.company == batch[0].company else later).append(one)
        self._queue.extendleft(reversed(later))
        return batch
