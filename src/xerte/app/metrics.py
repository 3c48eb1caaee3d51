"""Prometheus metrics of one server."""

from collections.abc import Callable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 5, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts of what one server did."""

    def __init__(self, waiting: Callable[[], float]) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "xerte_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "xerte_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=self._registry
        )
        self.batch = Histogram(
            "xerte_batch_questions", "Questions answered in one batch.", buckets=_SIZES, registry=self._registry
        )
        self.events = Counter("xerte_events", "Events taken in, by outcome.", ("outcome",), registry=self._registry)
        self.refused = Counter("xerte_refused", "Requests refused by a limit.", ("code",), registry=self._registry)
        self._of = cache(self._labelled)
        Gauge("xerte_questions_waiting", "Questions that wait.", registry=self._registry).set_function(waiting)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request."""
        count, time = self._of(method, route, status)
        count.inc()
        time.observe(seconds)

    def _labelled(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(method, route, str(status)), self.seconds.labels(route)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
