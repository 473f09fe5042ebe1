"""A task that a person plays in their own browser, on pages that this process serves.

The person's clicks and forms become the actions of an agent, so the episode is an ordinary trajectory. A browser shows
a page as a whole, so each page is scrolled to its end as soon as it opens. One extra page, beside those of the site,
holds the conversation and the tools for talking and ending.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import gymnasium as gym
import orjson

from palaestra.agents import EpisodeRecorder
from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import read_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.forms import field_element, form_fields, read_arguments
from palaestra.envs.surfaces.pages.html import render_html
from palaestra.envs.surfaces.pages.session import CLOSE, BrowserSession
from palaestra.envs.surfaces.pages.text import VIEWPORT
from palaestra.envs.surfaces.pages.tree import FIELDS, Follow, Page, PageElement, Submit
from palaestra.errors import CapabilityError, ToolRefusal
from palaestra.records import Json, Message
from palaestra.steps import StepRecord
from palaestra.tools import CONTROL, Tool
from palaestra.trajectory import Episode

EPISODE = "/_episode"
"""The path of the page with the conversation and the tools for talking and ending; no site has this path."""
_Action: TypeAlias = tuple[str, dict[str, Json]]
"""A tool and its arguments."""
_LONGEST = 2_000_000
"""Maximum bytes of a form."""


class HandPlay:
    """An episode that a person plays.

    Args:
        env: An environment on the surface of pages.
        task: The id of the task.

    Raises:
        CapabilityError: the environment has no pages.
    """

    def __init__(self, env: gym.Env[Any, Any], task: str) -> None:
        self._recorder = EpisodeRecorder(env, agent="person", seed=0, task=task)
        world = env.unwrapped
        assert isinstance(world, ToolEnv), "it is Palaestra's own"
        if not isinstance(world.episode.surface, PageBrowser):
            raise CapabilityError(f"surface {world.surface!r} has no pages; add --surface pages")
        self._world = world
        if world.episode.surface.settings is not None:
            raise CapabilityError("pages are played by hand with the plain tools; leave out the surface settings")
        self._browser = world.episode.surface
        self._said: list[Message] = [one for one in self._recorder.opening.messages if one["role"] != "tool"][:-1]
        self._speaking = {
            tool.name: tool for tool in world.toolbox if tool in CONTROL or tool.name == world.toolbox.prose_tool
        }
        self._refusal = ""
        """The reason why the last action was refused; empty where it was not, or where the page shows the reason."""
        self._sent: tuple[str, Mapping[str, str]] | None = None
        """The last form that was sent: a browser sends it again on a second click, or when its page is reloaded."""
        self._show_whole()

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self._recorder.over

    def episode(self) -> Episode:
        """The trajectory so far."""
        return self._recorder.episode()

    def open(self, url: str) -> str:
        """Answer a request for a page: take the action that leads to it, and return the page after it as HTML."""
        if read_address(url).path[:1] == (EPISODE[1:],):
            return self._episode_page(url)
        if not self.over and url != self._browser.session.tab.url:
            self._act_in_turn(self._actions_of(url))
            self._show_whole()
        return self._site_page()

    def send(self, url: str, fields: Mapping[str, str]) -> str:
        """Answer a form: enter changed values, send the form, and return the page after it as HTML."""
        path = read_address(url).path
        if not self.over and path[:1] == (EPISODE[1:],) and len(path) == 2 and path[1] in self._speaking:
            self._speak(self._speaking[path[1]], fields)
            return self._episode_page(EPISODE)
        if not self.over:
            outcome, sent = self._browser.session.tab.outcome, (url, dict(fields))
            if not fields and outcome is not None:
                self._act("click", {"element": CLOSE})
            elif outcome is None or outcome.refused or sent != self._sent:
                self._send_form(fields)
            self._sent = sent
            self._show_whole()
        return self._site_page()

    # from requests to actions

    def _page(self) -> Page:
        return self._browser.page(self._world.episode.state)

    def _actions_of(self, url: str) -> Sequence[_Action]:
        """The actions that lead to an address from the current page."""
        page, tab = self._page(), self._browser.session.tab
        for element in page.walk():
            if element.id and isinstance(element.activation, Follow) and element.activation.url == url:
                return [("click", {"element": element.id})]
        if tab.place > 0 and tab.history[tab.place - 1] == url:
            return [("back", {})]
        if tab.place + 1 < len(tab.history) and tab.history[tab.place + 1] == url:
            return [("forward", {})]
        for button, form in _forms(page):
            if not form.action and read_address(form.url).path == read_address(url).path:
                asked = read_address(url).query
                values = {field.element: asked.get(field.argument, "") for field in form.fields}
                return [*self._entries(page, values), ("click", {"element": button})]
        return [("goto", {"url": url})]

    def _send_form(self, fields: Mapping[str, str]) -> None:
        page = self._page()
        fitting = [(button, form) for button, form in _forms(page) if form.action and _fits(form, fields)]
        for button, form in fitting[:1]:
            values = {field.element: fields.get(field.argument, "") for field in form.fields}
            self._act_in_turn([*self._entries(page, values), ("click", {"element": button})])

    def _entries(self, page: Page, values: Mapping[str, str]) -> list[_Action]:
        """The actions that enter values into fields that hold other values."""
        found: list[_Action] = []
        for element in page.walk():
            if element.role not in FIELDS or element.id not in values:
                continue
            value = values[element.id].replace("\r\n", "\n")
            ticked = element.role == "checkbox"
            if value == element.value or (ticked and (value == "true") == (element.value == "true")):
                continue
            if ticked:
                found.append(("check", {"element": element.id, "checked": value == "true"}))
            elif element.role == "combobox" and value:
                found.append(("select_option", {"element": element.id, "option": value}))
            else:
                found.append(("fill", {"element": element.id, "text": value}))
        return found

    def _speak(self, tool: Tool, fields: Mapping[str, str]) -> None:
        values = {name: text.replace("\r\n", "\n") for name, text in fields.items()}
        arguments = read_arguments(form_fields(tool), {f"field.{name}": text for name, text in values.items()})
        self._act(tool.name, arguments)

    def _act_in_turn(self, actions: Sequence[_Action]) -> None:
        for tool, arguments in actions:
            self._act(tool, arguments)

    def _act(self, tool: str, arguments: Mapping[str, Json]) -> None:
        if self.over:
            return
        self._recorder.step({"tool": tool, "arguments": dict(arguments)})
        self._refusal = _refusal_in(self._recorder.observation)
        if tool in self._speaking:
            self._said.append({"role": "assistant", "content": str(arguments.get("message", tool))})
            self._said += [one for one in self._recorder.observation if one["role"] == "user"]

    def _show_whole(self) -> None:
        """Scroll to the end of the page, because the person sees the whole page."""
        while not self.over:
            view = self._browser.view(self._world.episode.state)
            if self._browser.session.tab.scroll + VIEWPORT >= view.lines:
                return
            self._act("scroll", {"direction": "down"})

    # pages

    def _site_page(self) -> str:
        if self.over:
            return self._episode_page(EPISODE)
        page = self._page()
        first, *others = page.elements
        if self._refusal:
            others = [PageElement(role="text", value=f"Refused: {self._refusal}"), *others]
        link = PageElement(role="link", id="episode", name="The request", activation=Follow(url=EPISODE))
        bar = PageElement(role="navigation", name=first.name, children=(link, *first.children))
        return render_html(Page(url=page.url, title=page.title, elements=(bar, *others)), self._browser.session)

    def _episode_page(self, url: str) -> str:
        """The conversation with links to the tools for talking; the form of one of these tools; or the outcome."""
        asked = read_address(url).path[1:]
        back = PageElement(
            role="link", id="site", name="The site", activation=Follow(url=self._browser.session.tab.url)
        )
        bar = PageElement(role="navigation", name="Episode", children=() if self.over else (back,))
        if self.over:
            elements = self._outcome()
        elif asked and asked[0] in self._speaking:
            elements = _speaking_form(self._speaking[asked[0]])
        else:
            links = [
                PageElement(role="link", id=name, name=name, activation=Follow(url=f"{EPISODE}/{name}"))
                for name in self._speaking
            ]
            elements = [
                PageElement(role="heading", name=self._recorder.task_id),
                *(PageElement(role="definition", name=one["role"], value=one["content"]) for one in self._said),
                PageElement(role="navigation", name="What to do", children=tuple(links)),
            ]
        return render_html(Page(url=url, title="Episode", elements=(bar, *elements)), BrowserSession())

    def _outcome(self) -> list[PageElement]:
        return [
            PageElement(role="heading", name=f"{self._recorder.task_id} has ended"),
            *(PageElement(role="text", value=line) for line in judge_by_replay(self._world, self.episode())),
        ]


def _refusal_in(observation: Sequence[Message]) -> str:
    """The message of an answer that is a refusal; empty for a page."""
    content = observation[-1]["content"] if observation else ""
    if not content.startswith('{"error"'):
        return ""
    return str(orjson.loads(content)["error"]["message"])


def _forms(page: Page) -> list[tuple[str, Submit]]:
    """The buttons that send forms of a page, each with its form."""
    return [
        (one.id, one.activation) for one in page.walk() if one.role == "button" and isinstance(one.activation, Submit)
    ]


def _fits(form: Submit, fields: Mapping[str, str]) -> bool:
    """Whether a form sends these fields; hidden values distinguish several forms on a page."""
    kept = dict(form.kept)
    names = {*kept, *(field.argument for field in form.fields)}
    return fields.keys() <= names and all(fields.get(name) == value for name, value in kept.items())


def _speaking_form(tool: Tool) -> list[PageElement]:
    fields = form_fields(tool)
    button = PageElement(role="button", id="send", name=tool.name, activation=Submit(action=tool.name, fields=fields))
    parts = (*(field_element(field, "") for field in fields), button)
    return [
        PageElement(role="heading", name=tool.name),
        PageElement(role="text", value=tool.description),
        PageElement(role="form", name=tool.name, children=parts),
    ]


def judge_by_replay(world: ToolEnv, episode: Episode) -> list[str]:
    """State whether the proof accepts a trajectory: the replay gives equal rows and score, and nothing is missing.

    Args:
        world: An environment of the same kind; a fresh copy of it replays the trajectory.
        episode: The trajectory.
    """
    assert world.spec is not None, "it was made by Gymnasium"
    fresh = gym.make(world.spec)
    fresh.reset(seed=episode.seed, options={"task": episode.task.id})
    turns = list(episode.turns)
    for number, turn in enumerate(turns, 1):
        calls = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in turn.calls]
        record: StepRecord = fresh.step(calls)[4]["record"]
        if record.state_hash != turn.state_hash:
            return [f"Refused: turn {number} comes to other rows when it is replayed."]
    replayed: Any = fresh.unwrapped  # Any: methods that Palaestra's environments add to Gymnasium's interface
    if replayed.score(episode.end).points != episode.score.points:
        return ["Refused: the score of a replay is another."]
    met, violated = (turns[-1].met, turns[-1].violated) if turns else ((), ())
    lacking = [f"Lacking: {one.text}" for one in episode.rubric if one.kind == "expect" and one.id not in met]
    wrong = [f"Forbidden, and done: {one.text}" for one in episode.rubric if one.id in violated]
    said = f"{episode.score.points} of {episode.score.total} points after {len(turns)} actions: "
    if episode.score.passed:
        said += "accepted. It replays to the same rows, and every criterion is met."
    else:
        said += "not accepted."
    return [said, *lacking, *wrong]


def serve_hand_play(play: HandPlay, *, port: int = 0) -> HTTPServer:
    """Make a server of an episode's pages, for this machine only; `serve_forever` answers until it is shut down.

    Args:
        play: The episode.
        port: The port to listen on; 0 takes a free port (`server_address`).

    Raises:
        OSError: the port is in use.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/favicon.ico":
                self._answer("", HTTPStatus.NOT_FOUND)
            elif self._is_ours():
                self._page(lambda: play.open(self.path))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > _LONGEST:
                self._answer(f"a form has at most {_LONGEST:,} bytes", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            elif self._is_ours(sending=True):
                body = self.rfile.read(length).decode(errors="replace")
                fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=1_000))
                self._page(lambda: play.send(self.path, fields))

        def _is_ours(self, *, sending: bool = False) -> bool:
            """Refuse requests that other sites make through the browser."""
            known = {f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")}
            origin = self.headers.get("Origin")
            if self.headers.get("Host") in known and (not sending or origin in {f"http://{name}" for name in known}):
                return True
            self._answer("this address serves one person on this machine", HTTPStatus.FORBIDDEN)
            return False

        def _page(self, made: Any) -> None:
            try:
                self._answer(made(), HTTPStatus.OK)
            except ToolRefusal as refusal:
                self._answer(f"{refusal.message}; go back", HTTPStatus.NOT_FOUND)

        def _answer(self, text: str, status: HTTPStatus) -> None:
            body = text.encode()
            self.send_response(status)
            html = "text/html" if status == HTTPStatus.OK else "text/plain"
            self.send_header("Content-Type", f"{html}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")  # going back is an action and must reach this server
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as the standard library names it
            del format, args

    server = HTTPServer(("127.0.0.1", port), Handler)
    return server
