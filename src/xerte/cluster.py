"""Work spread over the workers of a Ray cluster, or over the cores of this machine (extra `cluster`).

A task is a function of this package and plain arguments: names, paths and numbers. Workers open datasets and models
themselves, as memory-mapped files, so every machine must see the same files under the same names. What a task answers
depends on its arguments alone, so a task whose worker died is done again by another, and the number of workers changes
nothing.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from xerte import __version__
from xerte.errors import InputError, XerteError, one_line

if TYPE_CHECKING:
    from types import ModuleType

AUTO = "auto"
_Result = TypeVar("_Result")
_RETRIES = 50
"""So often a task is tried again whose worker died."""
_OOM_RETRIES = 10
"""So often where memory ran out; Ray itself would try for ever."""
_PATIENCE_S = 10
"""So long an address may take to answer at all."""
_ALIKE = "install the same on every machine of the cluster"
_NOT_FOUND = "failed to import on the worker"
"""So Ray begins to say that a worker does not know a function."""
_WAITING = 3
"""Tasks handed out per core: enough that no worker waits, few enough that results do not pile up."""


class Cluster:
    """The workers at an address.

    Args:
        address: of a running cluster ("host:port", "ray://host:port"); "local" is this machine's cores, "auto" the
            cluster this machine belongs to, or else its cores.

    Raises:
        InputError: Ray is not installed, or nothing answers at the address.
    """

    def __init__(self, address: str = AUTO) -> None:
        self._ray = _ray()
        if self._ray.is_initialized():
            return
        os.environ.setdefault("RAY_task_oom_retries", str(_OOM_RETRIES))  # Ray reads it when this process joins
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")  # not a line for every second of waiting
        _refuse_where_nobody_listens(address, self._ray.util.get_node_ip_address)
        # Every task has one core to itself, so its numbers do not depend on how many cores there are.
        variables = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        variables |= {name: os.environ[name] for name in ("XERTE_HOME", "PYTHONPATH") if name in os.environ}
        _quieten(self._ray)
        options: dict[str, Any] = {"runtime_env": {"env_vars": variables}, "log_to_driver": False}
        options |= {"logging_level": "ERROR", "configure_logging": False}
        try:
            with _unheard():
                try:
                    self._ray.init(address=address, **options)
                except ConnectionError:
                    if address != AUTO:
                        raise
                    self._ray.init(address="local", **options)
        except Exception as error:  # nobody; another version; a node that does not start, for which Ray has no kind
            raise InputError(one_line(f"the cluster {address} cannot be joined: {error}")) from None

    @property
    def cores(self) -> int:
        """Of all its machines together."""
        return int(self._ray.cluster_resources().get("CPU", 1))

    def map(
        self,
        task: Callable[..., _Result],
        items: Sequence[tuple[Any, ...]],
        done: Callable[[int, _Result], None] | None = None,
        gpus: int = 0,
    ) -> list[_Result]:
        """task(*item) for every item, in their order.

        Args:
            task: a function at the top of a module.
            items: the arguments of each call.
            done: called with (place of the item, result) as results come in, in any order.
            gpus: how many each call needs to itself.

        Raises:
            XerteError: what a task raised, or that workers die wherever it runs.
        """
        ray, results = self._ray, dict[int, _Result]()
        remote = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=_RETRIES)(_done)
        waiting, at_work = iter(enumerate(items)), dict[Any, int]()
        with _told_plainly(ray):
            while True:
                while len(at_work) < _WAITING * self.cores and (following := next(waiting, None)) is not None:
                    at_work[remote.remote(__version__, task, *following[1])] = following[0]
                if not at_work:
                    return [results[place] for place in range(len(items))]
                for finished in ray.wait(list(at_work), num_returns=1)[0]:
                    place = at_work.pop(finished)
                    results[place] = ray.get(finished)
                    if done is not None:
                        done(place, results[place])


def _done(here: str, task: Callable[..., _Result], *arguments: Any) -> _Result:
    """On a worker: the task, if it is that of the process that asks for it."""
    if here != __version__:
        raise InputError(f"the worker on {socket.gethostname()} has xerte {__version__}, not {here}: {_ALIKE}")
    return task(*arguments)


def _refuse_where_nobody_listens(address: str, here: Callable[[], str]) -> None:
    """Ray itself tries for minutes.

    Args:
        address: of a cluster.
        here: tells the address that Ray takes this machine's to be, where a local one is given.

    Raises:
        InputError: no connection can be made.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # a word like auto, or what Ray shall judge
    problem: Exception | None = None
    for place in [host.strip("[]"), *([here()] if host in ("localhost", "127.0.0.1") else [])]:
        try:
            socket.create_connection((place, int(port)), _PATIENCE_S).close()
            return
        except (OSError, OverflowError) as error:
            problem = error
    reason = getattr(problem, "strerror", None) or problem
    raise InputError(one_line(f"the cluster {address} cannot be joined: nobody answers there ({reason})")) from None


def _quieten(ray: "ModuleType") -> None:
    """What Ray says about dead workers would go to standard output, into JSON; what became of them is told here."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)  # nor tracebacks of all other tasks that failed
    ray._private.worker.print_to_stdstream = lambda *_, **__: None  # there is no option for it


@contextmanager
def _unheard() -> Iterator[None]:
    """Standard error leads nowhere for a moment: Ray's native code writes there which level of its log was set."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def _ray() -> "ModuleType":
    try:
        import ray
    except ImportError:
        raise InputError("a cluster needs Ray, which is not installed: pip install 'xerte[cluster]'") from None
    module: ModuleType = ray
    return module


@contextmanager
def _told_plainly(ray: "ModuleType") -> Iterator[None]:
    """A user's mistake on a worker is the mistake itself; a lost worker is one sentence."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, XerteError | OSError | MemoryError):
            raise error.cause from None
        if isinstance(error.cause, ray.exceptions.RaySystemError) or _NOT_FOUND in str(error.cause):
            reason = str(error).strip().splitlines()[-1]
            raise XerteError(one_line(f"workers lack this xerte ({__version__}): {_ALIKE} ({reason})")) from None
        raise
    except ray.exceptions.LocalRayletDiedError:
        raise XerteError("Ray died on this machine: repeat the command once the cluster is up again") from None
    except ray.exceptions.RayError as error:
        lost = "every worker that tried ran out of memory or died: give workers more memory, or use fewer at once"
        raise XerteError(one_line(f"{lost} ({str(error).splitlines()[0]})")) from None
