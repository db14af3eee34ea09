"""`onward serve`: the application under uvicorn, from start to a stop in order."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn

from onward.service.access import Access, is_loopback
from onward.service.application import Application
from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.joined_writes import JoinedHttp
from onward.service.request_errors import RequestError
from onward.service.request_log import JsonLines, RequestLog
from onward.service.request_metrics import RequestMetrics
from onward.service.route_table import ROUTES
from onward.service.server_settings import Address, ServerSettings, parse_address
from onward.service.service_engine import Service
from onward.service.store import Store, open_store
from onward.service.tokens import list_tokens
from onward.service.warming import warm

_TOKENS_EVERY = 2.0  # seconds after which a token that was added or removed counts
_KEEP_ALIVE = 75  # seconds for which a connection may be silent
_BACKLOG = 2048
_COLLECT_AFTER = 20_000  # objects that are new: by then nearly all of those that a request makes are gone by themselves
_TURN = 0.001  # seconds after which a thread that waits gets its turn: the writer's waits at each of its statements
_LAST_WORDS = 1.0  # seconds for answers to requests that were cut short
_log = logging.getLogger("onward.service")


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them as they are."""
        yield


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is under way, write snapshots, and return."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # where it listens is said here
    sys.setswitchinterval(_TURN)
    with asyncio.Runner(loop_factory=_event_loop) as runner:
        runner.run(run_server(settings))


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def run_server(settings: ServerSettings) -> None:
    """Serve until a signal stops it; ValueError if anybody else than this machine could ask without a token."""
    address = parse_address(settings.listen)
    store = await asyncio.to_thread(open_store, settings.database)
    try:
        access = Access(open_without_tokens=is_loopback(address.host))
        access.renew(await asyncio.to_thread(_tokens, store))
        if not access.is_open and not access.has_tokens:
            raise ValueError(
                f"there are no tokens in the database, so that anybody could do anything: expected --listen on "
                f"127.0.0.1 or another loopback address, got {address.host}; `onward service tokens add` makes a token"
            )
        async with _running(store, settings) as service:
            log = RequestLog(logging.getLevelName(settings.log_level.upper()))
            metrics = RequestMetrics()
            metrics.add_loops(lambda: _states(service))
            service.loops.writer.on_commit = metrics.commit
            application = Application(service, ROUTES, access=access, limits=settings.limits, log=log, metrics=metrics)
            server = _Server(_uvicorn_config(application, address, settings))
            # What is there now stays: without it, collecting garbage takes milliseconds, not tenths of a second.
            gc.collect()
            gc.freeze()
            gc.set_threshold(_COLLECT_AFTER, 10, 10)
            with _stopped_by_signals(server):
                watch = asyncio.create_task(_watch_tokens(store, access))
                announce = asyncio.create_task(_announce(server, store.database.where, access))
                try:
                    await server.serve()
                finally:
                    if ended := set(server.server_state.tasks):  # requests that outlast a stop: each says so
                        await asyncio.wait(ended, timeout=_LAST_WORDS)
                    watch.cancel()
                    announce.cancel()
                    application.evaluator.close()
                    log.flush()
    finally:
        await asyncio.to_thread(store.close)
    _log.info("stopped")


@contextlib.asynccontextmanager
async def _running(store: Store, settings: ServerSettings) -> AsyncIterator[Service]:
    """The service from its start, with the loops it was told, to its stop, when states are stored."""
    service = await Service.start(store, retain=settings.retain)
    try:
        told: dict[str, LoopConfig | ModelConfig] = {**settings.loops, **settings.models}
        stored = await asyncio.to_thread(store.loops)
        for name, config in told.items():
            try:
                await asyncio.to_thread(warm, config)
                if name not in stored:
                    await service.make(name, config)
            except RequestError as error:
                raise ValueError(f"{name}: {error} ({error.field})") from error
            live = service.loops.by_name.get(name)
            if live is not None and live.current.config != config:  # it may have been changed since by requests
                _log.warning("%s: the configuration file says otherwise than what is stored, which is kept", name)
        for live in list(service.loops.by_name.values()):
            with contextlib.suppress(RequestError):  # what is stored is served, whatever it is
                await asyncio.to_thread(warm, live.current.config)
        yield service
    finally:
        await service.stop()


def _uvicorn_config(application: Application, address: Address, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        host=address.host,
        port=address.port,
        http=JoinedHttp,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
    )


@contextlib.contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """SIGTERM and SIGINT stop it in order; a second one stops it at once."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    numbers = (signal.SIGTERM, signal.SIGINT)
    try:
        for number in numbers:
            loop.add_signal_handler(number, stop)
    except NotImplementedError:  # on Windows
        yield
        return
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _tokens(store: Store) -> dict[str, frozenset[str]]:
    return {token.hash: frozenset(token.role.split(",")) for token in list_tokens(store)}


def _states(service: Service) -> dict[str, dict[str, Any]]:
    """What is known of each loop and model, for metrics."""
    return {
        name: live.current.summary() | {"is_learner": live.is_learner} for name, live in service.loops.by_name.items()
    }


async def _watch_tokens(store: Store, access: Access) -> None:
    """Tokens that are added or removed count within seconds; while the database is away, those that were known."""
    while True:
        await asyncio.sleep(_TOKENS_EVERY)
        with contextlib.suppress(OSError):
            access.renew(await asyncio.to_thread(_tokens, store))


async def _announce(server: uvicorn.Server, database: str, access: Access) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    listening = [each.getsockname() for one in server.servers for each in one.sockets]
    for host, port, *_ in listening:
        shown = f"[{host}]" if ":" in host else host
        who = "without tokens, for this machine only" if access.is_open else "with tokens"
        _log.info("listening on http://%s:%s, %s; database %s", shown, port, who, database)
