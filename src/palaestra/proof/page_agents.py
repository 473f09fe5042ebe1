"""Agents without knowledge that measure a task on pages: they click, fill in shown values, send and confirm.

They see what a browser shows: the elements of the current page. They are also told which words are ids and of which
table, since a page does not say so. They type only values that were shown to them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.generated import DO
from palaestra.envs.surfaces.pages.session import CLOSE
from palaestra.envs.surfaces.pages.tree import FIELDS, Follow, Page, PageElement, Submit
from palaestra.errors import ToolRefusal
from palaestra.proof.directory import IdDirectory
from palaestra.protocols import Action, Agent
from palaestra.records import ANY_TABLE, JsonSchema, Message, ToolCall
from palaestra.seeding import Stream

PAGE_AGENTS = ("random-clicker", "submit-everything", "confirm-everything")
"""Agents that work only on pages; none may solve a task."""
CLICKS = 30
"""Random actions of an episode of the clicker."""
ROUNDS = 20
"""Random actions of an episode that confirms whatever comes."""
_STEPS_OF_A_FORM = 5
"""The most pages that one form takes: its own, further ones and a review."""
_ROWS = 3
"""Rows of the request whose pages are opened."""
_NUMBER = re.compile(r"\d{1,8}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LETTERS = 200

PagePlay = Callable[["PageEyes", Stream], Iterator[Sequence[ToolCall]]]


def has_pages(env: ToolEnv) -> bool:
    """Whether an environment is played on pages, and with the browser's own actions."""
    begin = env.played_surface.begin
    return begin is not None and type(begin()) is PageBrowser


def page_agents(env: ToolEnv) -> dict[str, Agent]:
    """The agents of `PAGE_AGENTS` by name, for `env`, which is played on pages."""
    plays: Mapping[str, PagePlay] = {
        "random-clicker": click_at_random,
        "submit-everything": submit_everything,
        "confirm-everything": confirm_everything,
    }
    return {name: PageAgent(PageEyes(env), plays[name]) for name in PAGE_AGENTS}


class PageEyes:
    """What a browser user sees and has seen.

    Args:
        env: The environment that they act in; its task may change.

    Attributes:
        ids: By table, the ids that were shown so far, in order.
        numbers: The numbers that were shown so far.
        dates: The dates.
        said: The request, in short.
        named: The rows that the request names, each with its table.
    """

    def __init__(self, env: ToolEnv) -> None:
        self._env = env
        self.begin()

    def begin(self) -> None:
        """An episode begins: nothing was shown yet."""
        self.ids: dict[str, list[str]] = {}
        self.numbers: list[str] = []
        self.dates: list[str] = []
        self.said = ""
        self.named: list[tuple[str, str]] = []
        self._directory: IdDirectory | None = None

    def see(self, messages: Sequence[Message]) -> None:
        """Take in what was shown."""
        if self._directory is None:
            instance = self._env.instance
            self._directory = IdDirectory(instance.world, instance.initial_state)
        for message in messages:
            text = message["content"]
            found = [(self._directory.table_of(key) or ANY_TABLE, key) for key in self._directory.find_ids(text)]
            if message["role"] == "user" and not self.said:
                self.said = " ".join(text.split())[:_LETTERS]
                self.named = [row for row in found if row[0] != ANY_TABLE]
            for table, key in found:
                _add(self.ids.setdefault(table, []), key)
            for known, pattern in ((self.dates, _DATE), (self.numbers, _NUMBER)):
                for word in pattern.findall(text):
                    _add(known, word)

    @property
    def page(self) -> Page | None:
        """The page in front; `None` where there is none at its address."""
        try:
            return self._browser.page(self._env.episode.state)
        except ToolRefusal:
            return None

    @property
    def has_dialog(self) -> bool:
        """Whether a dialog or an alert lies over the page."""
        return self._browser.session.tab.outcome is not None

    @property
    def form(self) -> PageElement | None:
        """The button of the action's form on the page in front; `None` where it holds none."""
        page = self.page
        return None if page is None else next((part for part in page.walk() if _sends_action(part)), None)

    def draw_action(self, stream: Stream) -> ToolCall:
        """A random action, with ids that were shown."""
        try:
            return self._browser.draw_action(self._env.episode.state, lambda table: self.ids.get(table, ()), stream)
        except ToolRefusal:
            return ToolCall(tool="back", arguments={})

    def form_links(self) -> list[PageElement]:
        """The links on the page in front that lead to forms of actions."""
        page = self.page
        return [] if page is None else [part for part in page.walk() if _leads_to_form(part)]

    def fill(self, button: PageElement, stream: Stream) -> Iterator[ToolCall]:
        """Fill in the fields of a form that hold nothing, and activate its button."""
        page = self.page
        assert page is not None, "the button stands on it"
        assert isinstance(button.activation, Submit), "it is the button of a form"
        elements = {part.id: part for part in page.walk() if part.role in FIELDS}
        for field in button.activation.fields:
            element = elements.get(field.element)
            if element is None or element.value:
                continue
            if element.role == "checkbox":
                yield ToolCall(tool="check", arguments={"element": element.id, "checked": stream.chance(50)})
            elif text := self._value(element, field.references, field.schema, stream):
                yield ToolCall(tool="fill", arguments={"element": element.id, "text": text})
        yield ToolCall(tool="click", arguments={"element": button.id})

    def talk(self, text: str) -> list[ToolCall]:
        """Say something to whoever asked, where the world has a tool for it."""
        tool = self._env.world.toolbox.prose_tool
        return [] if tool is None else [ToolCall(tool=tool, arguments={"message": text})]

    def _value(self, element: PageElement, table: str, schema: JsonSchema, stream: Stream) -> str:
        """A value that was shown and may fit; nothing where none was."""
        if element.options:
            return stream.choice(element.options)
        if table:
            known: Sequence[str] = self.ids.get(table, ())
        elif _types(schema) & {"integer", "number"}:
            known = self.numbers
        elif "date" in str(schema.get("format", "")):
            known = self.dates
        else:
            return self.said
        return stream.choice(known) if known else ""

    @property
    def _browser(self) -> PageBrowser:
        browser = self._env.episode.surface
        assert isinstance(browser, PageBrowser), "the environment is played on pages"
        return browser


class PageAgent:
    """Plays a script that goes by what pages show, and then finishes.

    Args:
        eyes: What it sees.
        play: Gives the turns.
    """

    def __init__(self, eyes: PageEyes, play: PagePlay) -> None:
        self._eyes = eyes
        self._play = play

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools
        self._eyes.begin()
        self._turns = self._play(self._eyes, Stream.root("pages", seed))

    def act(self, messages: Sequence[Message]) -> Action:
        """The next turn of the script."""
        self._eyes.see(messages)
        for turn in self._turns:
            if turn:
                return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in turn]
        return {"tool": "finish", "arguments": {}}


def click_at_random(eyes: PageEyes, stream: Stream) -> Iterator[Sequence[ToolCall]]:
    """Click and type at random."""
    for number in range(CLICKS):
        yield [eyes.draw_action(stream.split(number))]


def submit_everything(eyes: PageEyes, stream: Stream) -> Iterator[Sequence[ToolCall]]:
    """Send every form that pages offer: first of the rows that the request names, then of the first page."""
    urls = [write_address(table, key) for table, key in eyes.named[:_ROWS]]
    sent: set[str] = set()
    for url in [*urls, "/"]:
        opened = _call("goto", url=url)
        yield [opened]
        for link in eyes.form_links():
            assert isinstance(link.activation, Follow), "it is a link"
            form = link.activation.url if url != "/" else link.activation.url.partition("?")[0]
            if form in sent or (url == "/" and any(other.startswith(f"{form}?") for other in sent)):
                continue  # of the first page, the forms that no row's page has led to
            sent.add(form)
            yield [opened, _call("click", element=link.id)]
            yield from _complete(eyes, stream.split(len(sent)))
    yield eyes.talk("Everything is done.")


def confirm_everything(eyes: PageEyes, stream: Stream) -> Iterator[Sequence[ToolCall]]:
    """Act at random, and confirm whatever asks for it: send each form, accept each review, close each dialog."""
    for number in range(ROUNDS):
        chance = stream.split(number)
        yield [eyes.draw_action(chance)]
        yield from _complete(eyes, chance)
    yield eyes.talk("Everything is done.")


def _complete(eyes: PageEyes, stream: Stream) -> Iterator[Sequence[ToolCall]]:
    """Fill in the form in front and send it, through its review, and close the dialog."""
    for _ in range(_STEPS_OF_A_FORM):
        button = eyes.form
        if button is None or eyes.has_dialog:
            break
        yield list(eyes.fill(button, stream))
    if eyes.has_dialog:
        yield [_call("click", element=CLOSE)]


def _call(tool: str, **arguments: str) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def _add(known: list[str], found: str) -> None:
    if found not in known:
        known.append(found)


def _sends_action(part: PageElement) -> bool:
    """Whether a button sends an action, or leads on to where it is sent."""
    sends = part.activation
    return isinstance(sends, Submit) and bool(sends.action or sends.url.startswith(write_address(DO)))


def _leads_to_form(part: PageElement) -> bool:
    return isinstance(part.activation, Follow) and part.activation.url.startswith(write_address(DO, ""))


def _types(schema: JsonSchema) -> set[str]:
    parts: list[JsonSchema] = [schema, *schema.get("anyOf", [])]
    return {str(part.get("type", "")) for part in parts}
