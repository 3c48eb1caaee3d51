"""Asks the questions of the watch list whenever events came, and sends what follows."""

import asyncio
import time
from collections.abc import Collection

from xerte.app.alerts import AlertStore, Watch
from xerte.app.served import Served
from xerte.app.webhooks import post
from xerte.errors import InputError, XerteError

LOOK_S = 1.0
_SOME = 20


class Watcher:
    """Runs beside the server of one dataset.

    Args:
        served: whose watches are looked after.
        store: of the watches.
        hosts: that may be called although they lie in a private network.
    """

    def __init__(self, served: Served, store: AlertStore, hosts: Collection[str] = ()) -> None:
        self._served, self._store, self._hosts = served, store, hosts

    async def run(self) -> None:
        """Looks again and again, until it is cancelled."""
        while True:
            await asyncio.to_thread(self.turn)
            await asyncio.sleep(LOOK_S)

    def turn(self) -> None:
        """Asks what has to be asked, sends what is due."""
        self.ask()
        for _ in range(_SOME):
            if not self.send():
                return

    def ask(self) -> None:
        """Answers the watches that were not answered yet from the dataset as it is now."""
        waiting = self._store.watches(self._served.name)
        if waiting:
            version = self._served.service.version_of(self._served.dataset)
            for watch in waiting:
                if watch.version != version:
                    self._answer(watch, version)

    def _answer(self, watch: Watch, version: str) -> None:
        try:
            with self._served.rates() as model:
                reply = model.ask(watch.subject, watch.relation, watch.object, within=watch.within, top=1)
                read = self._served.rated(model)
        except XerteError as error:
            self._store.trouble(watch, version, str(error))
            return
        probability = reply.answers[0].probability if reply.answers else 0.0
        body = {
            "watch": watch.id,
            "dataset": watch.dataset,
            "subject": watch.subject,
            "relation": watch.relation,
            "object": watch.object,
            "within": watch.within,
            "threshold": watch.threshold,
            "probability": probability,
            "as_of": reply.as_of,
            "versions": read.to_json(),
        }
        self._store.note(watch, probability, read.dataset, body, time.time())

    def send(self) -> bool:
        """Sends one alert that is due; whether there was one."""
        due = self._store.take_due(time.time())
        if due is None:
            return False
        try:
            post(due.url, due.secret, due.id, int(time.time()), due.body, self._hosts)
        except InputError as error:
            self._store.failed(due, str(error), time.time())
        else:
            self._store.sent(due)
        return True
