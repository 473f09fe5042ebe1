"""A browser's windows: one browser a process, one context an episode, so that nothing passes from one to another."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

# Any: Playwright is installed where this runs, and not where types are checked.
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
"""The time that a held clock begins with, in seconds: noon of the first of January 2020, UTC."""


class Browser:
    """Chromium, begun when the first window is opened and again when it is gone."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._playwright: Any = None
        self._browser: Any = None

    def open(
        self, *, held: bool, reach: Sequence[str], size: tuple[int, int] = (500, 320), storage: str | None = None
    ) -> "Window":
        """A window of its own.

        Args:
            held: Whether time stands still but for `Window.pass_time`.
            reach: How the addresses begin that may be asked for; every other request is refused.
            size: Of the page, in pixels.
            storage: A file with cookies and storage to begin with, as Playwright writes them.
        """
        context = self.open_context(size=size, storage=storage)

        def beyond(url: str) -> bool:
            return not url.startswith(tuple(reach))

        context.route(beyond, _abort)
        return Window(context, held=held)

    def open_context(self, *, size: tuple[int, int], dark: bool = False, storage: str | None = None) -> Any:
        """A context of Playwright's, which shares nothing with others: language English, time zone UTC, no animations.

        Args:
            size: Of its pages, in pixels.
            dark: Whether pages are asked for dark colours.
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
        """Bytes that all processes that this one began have written, shared pages in proportion; Linux alone tells.

        Pages of the program's files are left out: their part grows when another browser on the machine ends.
        """
        return sum(map(_written_size, child_processes(os.getpid())))

    def close(self) -> None:
        """Close it. Closing one that is gone, or was never begun, is fine."""
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
        """What was last copied here: that of the machine is shared by all windows."""
        context.add_init_script(_SCRIPT)
        self.page = context.new_page()
        self._cdp: Any = None
        context.on("page", _close)  # a window that a page opens
        if held:
            self.page.clock.install(time=EPOCH - 3_600)  # it runs until it is held, and is never set back
            self.page.clock.pause_at(EPOCH)

    def pass_time(self, milliseconds: int) -> None:
        """Let timers and animations of a held clock run; in a window with its own time, wait."""
        if self._held:
            self.page.clock.run_for(milliseconds)
        else:
            self.page.wait_for_timeout(milliseconds)

    def run(self, script: str, argument: Any = None) -> Any:
        """A JavaScript function of one argument, in the page."""
        return self.page.evaluate(script, argument)

    def on_finished(self, told: Callable[[Any], None]) -> None:
        """Have `told` be called with every request that was answered."""
        self._context.on("requestfinished", told)

    def accessibility_nodes(self) -> list[dict[str, Any]]:
        """The nodes of the accessibility tree, as Chromium gives them."""
        return list(self._devtools().send("Accessibility.getFullAXTree")["nodes"])

    def ref(self, backend: int) -> int:
        """The number of the element behind a node of the accessibility tree."""
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
        """Close it. Closing one whose browser is gone is fine."""
        with suppress(PLAYWRIGHT.Error):
            self._context.close()


def child_processes(process: int) -> set[int]:
    """The processes that this one began, and those that they began, by their ids; Linux alone tells."""
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
    """Have the page do something that it may refuse, such as an unknown key; why it did."""
    try:
        act()
    except PLAYWRIGHT.Error as error:
        return str(error).splitlines()[0]
    return None
