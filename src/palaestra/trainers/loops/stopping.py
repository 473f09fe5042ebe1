"""Stop requests by SIGTERM or Ctrl-C: the stage saves and ends instead of being killed."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Whether a stop of the process was requested. It belongs to one event loop."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """The signal that requested it; `None` without a request."""
        self._asked = asyncio.Event()

    def ask(self, number: signal.Signals) -> None:
        """Request a stop."""
        self.signal = self.signal or number
        self._asked.set()

    async def wait(self) -> None:
        """Wait until a stop is requested."""
        await self._asked.wait()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Treat the first of `SIGNALS` as a request; a second one ends the process as usual.

        Signals reach only the main thread: in another thread this does nothing.
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
