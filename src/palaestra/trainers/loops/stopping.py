"""A request to stop, by SIGTERM or Ctrl-C: the stage saves and ends in place of being cut off."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Whether somebody has asked the process to stop. It belongs to one event loop."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """By which signal; `None` where nobody has."""
        self._asked = asyncio.Event()

    def ask(self, number: signal.Signals) -> None:
        """Ask for it."""
        self.signal = self.signal or number
        self._asked.set()

    async def wait(self) -> None:
        """Wait until somebody has asked."""
        await self._asked.wait()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Take the first of `SIGNALS` as a request; a second one ends the process as it always does.

        Signals reach the main thread alone: in another thread there is nothing to listen to.
        """
        loop = asyncio.get_running_loop()
        before: dict[signal.Signals, object] = {}

        def ignore_no_more() -> None:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            before.clear()

        def take(number: signal.Signals) -> None:
            ignore_no_more()
            self.ask(number)

        try:
            for number in SIGNALS:
                handler = signal.getsignal(number)
                loop.add_signal_handler(number, take, number)
                before[number] = handler
        except (RuntimeError, ValueError):  # not the main thread, or a loop without signals
            before.clear()
        try:
            yield
        finally:
            ignore_no_more()
