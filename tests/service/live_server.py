"""The application on a port of this machine, in a thread."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from onward.service.application import Application
from onward.service.joined_writes import JoinedHttp


@contextmanager
def serving(application: Application, port: int = 0) -> Iterator[str]:
    """The address at which an application answers, ended on the way out."""
    # Named as TCP, so that asyncio sends small answers at once instead of waiting 40 ms for more of them
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()  # whoever comes before it has started waits
        config = uvicorn.Config(
            application, http=JoinedHttp, log_config=None, lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
