"""Runs jobs on a Dask cluster, which is optional: its package is imported when a cluster is used."""

from __future__ import annotations

import logging
import time
from concurrent.futures import CancelledError
from importlib.util import find_spec
from typing import Any, Self

from leaguekit import __version__
from leaguekit.sim.workers import WorkerPool, WorkersLost

INSTALL = "a Dask cluster needs the extra `dask`: pip install 'leaguekit[dask]'"
HOW_TO = "docs/how-to.md says how to start a cluster"
CONNECT_SECONDS = 10
# The interval at which the cluster is asked for its workers.
_ASK_SECONDS = 1.0


class Cluster(WorkerPool):
    """The workers of a Dask scheduler. It runs a job again if it loses the worker; workers may join and leave."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._threads: dict[str, int] = {}
        self._ask_at = 0.0

    @property
    def max_pending(self) -> int:
        return 3 * max(1, sum(self._threads.values()))

    def describe(self) -> str:
        count = len(self._threads)
        if not count:
            return f"{self.address} has no worker yet"
        return f"{count} {'worker' if count == 1 else 'workers'}"

    def check_for_losses(self) -> None:
        if time.monotonic() >= self._ask_at:
            self._threads = self._ask("nthreads")
            self._ask_at = time.monotonic() + _ASK_SECONDS

    def restart_after(self, error: BaseException) -> None:
        if isinstance(error, RuntimeError):
            # Dask raises this error from an ImportError if it cannot load a job. Any other RuntimeError is that of a
            # game.
            if not isinstance(error.__cause__, ImportError):
                raise error
            raise WorkersLost(f"a worker lacks a module of the simulation: {error.__cause__}") from error
        is_lost = isinstance(error, CancelledError)
        why = f"the connection to the scheduler at {self.address} was lost" if is_lost else _describe(error)
        raise WorkersLost(why) from error

    def __enter__(self) -> Self:
        if find_spec("distributed") is None:
            raise WorkersLost(INSTALL)
        from distributed import Client, Security  # noqa: PLC0415 - optional, and heavy
        from distributed.scheduler import KilledWorker  # noqa: PLC0415

        # This module reports what is wrong as an error. The log messages of the libraries are about their own code.
        for name in [*logging.root.manager.loggerDict]:
            if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        # The last one comes if a worker lacks a package.
        self.lost_errors = CancelledError, KilledWorker, RuntimeError
        if self.address.startswith("tls:") and Security().get_connection_args("client")["ssl_context"] is None:
            raise WorkersLost(
                f"there is no certificate for {self.address}: name the settings that have it by DASK_CONFIG. {HOW_TO}"
            )
        try:
            self._client: Any = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            raise WorkersLost(
                f"the scheduler at {self.address} cannot be reached: {_describe(error)}. Is it running, and is the "
                f"certificate here from the same authority? {HOW_TO}"
            ) from error
        try:
            self._check_packages()
            self.check_for_losses()
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()

    def _check_packages(self) -> None:
        """Raise WorkersLost if a worker has no leaguekit, or another version of it."""
        for worker, found in self._ask("get_versions", packages=["leaguekit"])["workers"].items():
            version = found["packages"].get("leaguekit")
            if version != __version__:
                has = "no leaguekit" if version is None else f"leaguekit {version}"
                raise WorkersLost(
                    f"the worker {worker} has {has}: install leaguekit {__version__} on every worker, as here"
                )

    def _ask(self, method: str, **arguments: Any) -> Any:
        """What the scheduler answers. Raises WorkersLost."""
        try:
            return getattr(self._client, method)(**arguments)
        except (OSError, CancelledError) as error:
            raise WorkersLost(f"the scheduler at {self.address} does not answer: {_describe(error)}") from error


def _describe(error: BaseException) -> str:
    """The first line of an error, or of what caused it."""
    while error.__cause__ is not None and not str(error):
        error = error.__cause__
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
