"""`python -m onward`, and the command `onward`."""

import os
import signal
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


def main() -> None:
    """Run the command line. Until it is loaded there is nothing to save: a signal to stop ends the program at once."""
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _leave)
    from onward import cli

    for number, handler in before.items():
        signal.signal(number, handler)
    cli.main()


if __name__ == "__main__":
    main()
