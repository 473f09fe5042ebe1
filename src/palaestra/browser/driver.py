"""The windows of a browser: one browser per process, one context per episode, so that episodes share nothing."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

# Any: Playwright is installed at run time, but not where types are checked.
PLAYWRIGHT: Any = import_module("playwright.sync_api")
_SCRIPT = Path(__file__).with_name("page.js").read_text()
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--font-render-hinting=none",
)
EPOCH = 1_577_880_000
"""The start of a held clock, in seconds: noon of 1 January 2020, UTC."""


class Browser:
    """Chromium, started with the first window, and again if it has ended."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._playwright: Any = None
        self._browser: Any = None

    def open(
        self, *, held: bool, reach: Sequence[str], size: tuple[int, int] = (500, 320), storage: str | None = None
    ) -> "Window":
        """Open a window with its own context.

        Args:
            held: Whether time stands still except in `Window.pass_time`.
            reach: The prefixes of allowed addresses; every other request is refused.
            size: The size of the page, in pixels.
            storage: A file with initial cookies and storage, in Playwright's form.
        """
        context = self.open_context(size=size, storage=storage)

        def beyond(url: str) -> bool:
            return not url.startswith(tuple(reach))

        context.route(beyond, _abort)
        return Window(context, held=held)

    def open_context(self, *, size: tuple[int, int], dark: bool = False, storage: str | None = None) -> Any:
        """A Playwright context that shares nothing with others: language English, time zone UTC, no animations.

        Args:
            size: The size of its pages, in pixels.
            dark: Whether pages should use dark colours.
            storage: See `open`.
        """
        if self._browser is None or not self._browser.is_connected():
            self._playwright = self._playwright or PLAYWRIGHT.sync_playwright().start()
            self._browser = self._playwright.chromium.launch(executable_path=self._program, args=list(_FLAGS))
        return self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            color_scheme="dark" if dark else "light",
            service_workers="block",
            storage_state=storage,
        )

    def memory(self) -> int:
        """Bytes written by all processes started by this one, with shared pages in proportion; only on Linux.

        Pages of the program's files are left out: their share grows when another browser on the machine ends.
        """
        return sum(map(_written_size, child_processes(os.getpid())))

    def close(self) -> None:
        """Close the browser. A browser that has ended or never started is allowed."""
        if self._browser is not None:
            with suppress(PLAYWRIGHT.Error):
                self._browser.close()
        if self._playwright is not None:
            self._playwright.stop()
        self._browser = self._playwright = None


class Window:
    """A page in a context of its own."""

    def __init__(self, context: Any, *, held: bool) -> None:
        self._context = context
        self._held = held
        self.clipboard = ""
        """The text last copied here: all windows share the machine's clipboard."""
        context.add_init_script(_SCRIPT)
        self.page = context.new_page()
        self._cdp: Any = None
        context.on("page", _close)  # a window opened by a page
        if held:
            self.page.clock.install(time=EPOCH - 3_600)  # it runs until it is held, and is never set back
            self.page.clock.pause_at(EPOCH)

    def pass_time(self, milliseconds: int) -> None:
        """Run timers and animations of a held clock; in a window with real time, wait."""
        if self._held:
            self.page.clock.run_for(milliseconds)
        else:
            self.page.wait_for_timeout(milliseconds)

    def run(self, script: str, argument: Any = None) -> Any:
        """Run a JavaScript function of one argument in the page."""
        return self.page.evaluate(script, argument)

    def on_finished(self, told: Callable[[Any], None]) -> None:
        """Call `told` with every request that was answered."""
        self._context.on("requestfinished", told)

    def accessibility_nodes(self) -> list[dict[str, Any]]:
        """The nodes of the accessibility tree, in Chromium's form."""
        return list(self._devtools().send("Accessibility.getFullAXTree")["nodes"])

    def ref(self, backend: int) -> int:
        """The number of the element of a node in the accessibility tree."""
        devtools = self._devtools()
        handle = devtools.send("DOM.resolveNode", {"backendNodeId": backend})["object"]["objectId"]
        call = {
            "objectId": handle,
            "functionDeclaration": "function() { return __palaestra.ref(this) }",
            "returnByValue": True,
        }
        return int(devtools.send("Runtime.callFunctionOn", call)["result"]["value"])

    def _devtools(self) -> Any:
        if self._cdp is None:
            self._cdp = self._context.new_cdp_session(self.page)
            self._cdp.send("DOM.enable")
            self._cdp.send("Accessibility.enable")
        return self._cdp

    def close(self) -> None:
        """Close the window. A window whose browser has ended is allowed."""
        with suppress(PLAYWRIGHT.Error):
            self._context.close()


def child_processes(process: int) -> set[int]:
    """The ids of all descendants of a process; only on Linux."""
    parents = {int(one.name): _parent(one) for one in Path("/proc").iterdir() if one.name.isdigit()}
    found = {process}
    while more := {other for other, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0


def _written_size(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


def _abort(route: Any) -> None:
    route.abort()


def _close(page: Any) -> None:
    page.close()


def try_act(act: Callable[[], Any]) -> str | None:
    """Run an action that the page may refuse, such as an unknown key; returns the reason of a refusal."""
    try:
        act()
    except PLAYWRIGHT.Error as error:
        return str(error).splitlines()[0]
    return None
