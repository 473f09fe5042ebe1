"""An event loop whose time is imaginary: it jumps to the next timer as soon as everybody waits.

So no test sleeps, time-outs are exact, and a hang is found at once: if everybody waits and no timer is set, nothing
will ever happen again.
"""

import asyncio
import gc
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Never waits; says how far the clock is to jump."""

    jumped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready:
            return ready
        assert timeout is not None, "everybody waits for somebody, and no timer is set: this would hang"
        self.jumped += max(0.0, timeout)
        return ready


class ImaginaryLoop(asyncio.SelectorEventLoop):
    """Time begins at 0 and passes in jumps."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.jumped


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in imaginary time; nothing may be left running behind it, and no callback may have crashed."""
    crashes: list[str] = []

    def crashed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        crashes.append(f"{context['message']}: {context.get('exception')!r}")

    async def watched() -> T:
        asyncio.get_running_loop().set_exception_handler(crashed)
        result = await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"left running: {sorted(task.get_name() for task in left)}"
        return result

    with asyncio.Runner(loop_factory=ImaginaryLoop) as runner:
        result = runner.run(watched())
        gc.collect(0)  # a task whose exception nobody saw says so when it goes
    assert not crashes, crashes
    return result
