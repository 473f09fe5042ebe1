import html
import json
import re
from base64 import b64decode
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlencode

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.benchmarks.viewer import render_page
from palaestra.browser.driver import Browser
from palaestra.envs import ToolEnv
from palaestra.table import Table
from palaestra.trajectory import Episode

EpisodeFactory = Callable[..., Episode]

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</SCRIPT\n><img src=x onerror=alert(1)>",
    "]]>&lt;/script&gt;<svg/onload=alert(1)>",
    "line\u2028separator\u2029end",
    '"}]}; alert(1); //',
    "$data ${script} $$ \\u003c/script>",
    "</style></title></textarea></noscript>",
]


class Page(HTMLParser):
    """The elements of a page and the text of its scripts, as a browser would separate them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.title = ""
        self._inside = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "title":
            self.title += data

    @property
    def data(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.scripts[0])
        return value


def test_page_embeds_every_episode(make_episode: EpisodeFactory) -> None:
    episodes = [make_episode(index=i, agent=agent) for i in range(3) for agent in ("oracle", "scripted")]
    data = Page(render_page(episodes, title="Runs")).data
    shown = [(data["tasks"][e["task"]]["id"], e["agent"]) for e in data["episodes"]]
    assert shown == [(e.task.id, e.agent) for e in episodes]
    assert all(len(e["segments"][0]["turns"]) == 2 for e in data["episodes"])


def test_turn_keeps_what_a_reader_needs(make_episode: EpisodeFactory) -> None:
    data = Page(render_page([make_episode(text="the words")], title="Runs")).data
    read, refund = data["episodes"][0]["segments"][0]["turns"]
    assert read["text"] == "the words"
    assert read["calls"] == [
        {"tool": "get_order", "arguments": {"order_id": "ORD-1", "note": "the words"}},
    ]
    assert data["messages"][read["observation"][0]]["tool_call_id"] == read["events"][0]["call_id"]
    assert (read["components"], read["met"]) == ({"selection": 1}, ["read-order"])
    assert refund["events"][0]["error"] == "not_allowed"
    assert refund["changes"][0]["after"]["note"] == "the words"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_data(make_episode: EpisodeFactory, text: str) -> None:
    plain = Page(render_page([make_episode()], title="Runs", tables=[_table("cell")], figures=[_figure("loss")]))
    hostile = [make_episode(text=text, agent=text)]
    page = Page(render_page(hostile, title=text, tables=[_table(text)], figures=[_figure(text)]))
    assert page.tags == plain.tags
    assert page.scripts[1:] == plain.scripts[1:]
    assert page.title == text
    episode = page.data["episodes"][0]
    assert episode["agent"] == text
    assert episode["segments"][0]["turns"][0]["text"] == text
    assert page.data["messages"][episode["segments"][0]["prompt"][1]]["content"] == text
    assert page.data["tables"][0]["rows"] == [[text, "1"]]
    assert page.data["figures"][0]["words"] == text


@pytest.mark.parametrize("text", HOSTILE)
def test_embedded_json_holds_no_character_that_markup_could_use(make_episode: EpisodeFactory, text: str) -> None:
    page = Page(render_page([make_episode(text=text)], title="Runs", figures=[_figure(text)]))
    embedded = page.scripts[0]
    assert not re.search("[<>&\u2028\u2029]", embedded)


def test_page_has_no_external_reference(make_episode: EpisodeFactory) -> None:
    page = Page(render_page([make_episode()], title="Runs", figures=[_figure("loss")]))
    assert not {"link", "img", "iframe", "base", "object"} & set(page.tags)
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in page.attributes}
    assert not re.search(r"url\(|@import", _asset("viewer.css"))


def test_page_lets_only_its_own_script_run(make_episode: EpisodeFactory) -> None:
    page = Page(render_page([make_episode()], title="Runs"))
    (policy,) = [value for _, value in page.attributes if value and value.startswith("default-src")]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(re.findall(r"'sha256-[\w+/]{43}='", policy)) == 2
    assert "img-src data:;" in policy
    assert "script-src 'sha256-" in policy


def test_figure_is_an_image_that_holds_the_whole_document() -> None:
    drawn = [_figure("loss & score"), _figure("")]
    figures = Page(render_page([], title="Runs", figures=drawn)).data["figures"]
    assert [figure["words"] for figure in figures] == ["loss & score", "Figure 2"]
    for figure, svg in zip(figures, drawn, strict=True):
        kind, _, held = figure["source"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert b64decode(held, validate=True).decode() == svg


def test_figure_without_a_title_goes_by_its_number() -> None:
    (figure,) = Page(render_page([], title="Runs", figures=["<svg/>"])).data["figures"]
    assert figure["words"] == "Figure 1"


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match=r"figure 2 is no SVG document, it begins with 'curves\.svg'"):
        render_page([], title="Runs", figures=[_figure("loss"), "curves.svg"])


def test_script_never_parses_data_as_markup_or_code() -> None:
    script = _asset("elements.js") + _asset("viewer.js")
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert name not in script
    assert not re.search("</script|</style|<!--", script + _asset("viewer.css"), re.IGNORECASE)


def test_schemas_tasks_and_prompts_are_kept_once(make_episode: EpisodeFactory) -> None:
    episodes = [make_episode(agent=f"agent-{i}") for i in range(20)]
    source = render_page(episodes, title="Runs")
    data = Page(source).data
    assert len(data["tools"]) == 2
    assert len(data["tasks"]) == len(data["rubrics"]) == 1
    assert all(e["tools"] == [0, 1] for e in data["episodes"])
    assert source.count("Pay money back.") == source.count("You are a support agent.") == 1


def test_addresses_of_episodes_differ_also_for_the_same_run(make_episode: EpisodeFactory) -> None:
    data = Page(render_page([make_episode(), make_episode(), make_episode(seed=1)], title="Runs")).data
    keys = [e["key"] for e in data["episodes"]]
    first = "storefront/refund-damaged-item/0001@scripted:0"
    assert keys == [first, f"{first}~2", "storefront/refund-damaged-item/0001@scripted:1"]


def test_seed_beyond_the_numbers_of_javascript_stays_exact(make_episode: EpisodeFactory) -> None:
    data = Page(render_page([make_episode(seed=2**63 + 1)], title="Runs")).data
    assert data["episodes"][0]["seed"] == "9223372036854775809"


def test_same_episodes_give_the_same_page(make_episode: EpisodeFactory) -> None:
    assert render_page([make_episode()], title="Runs") == render_page([make_episode()], title="Runs")


def test_page_without_episodes_is_a_page() -> None:
    assert Page(render_page([], title="Nothing")).data["episodes"] == []


def test_ragged_table_is_refused() -> None:
    table = Table(title="Proof", columns=("task", "points"), rows=(("a",),))
    with pytest.raises(ValueError, match="'Proof', row 1: 1 cells for 2 columns"):
        render_page([], title="Runs", tables=[table])


def _table(cell: str) -> Table:
    return Table(title=cell, columns=(cell, "points"), rows=((cell, "1"),), note=cell)


def _figure(title: str) -> str:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><title>{}</title><text>\u00e9</text><script>alert(1)</script></svg>'
    return svg.format(html.escape(title))


def _asset(name: str) -> str:
    return files("palaestra.benchmarks.viewer").joinpath(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_lead_notes_and_cells_are_data(make_episode: EpisodeFactory, text: str) -> None:
    plain = Page(render_page([make_episode()], title="Runs"))
    page = Page(render_page([make_episode()], title="Runs", lead=[text], notes=[text, text], cells=[text]))
    assert page.tags == plain.tags
    assert page.scripts[1:] == plain.scripts[1:]
    assert (page.data["lead"], page.data["notes"]) == ([text], [text, text])
    assert page.data["episodes"][0]["cell"] == text
    assert (plain.data["lead"], plain.data["notes"], plain.data["episodes"][0]["cell"]) == ([], [], "")


def test_a_cell_for_some_episodes_alone_is_refused(make_episode: EpisodeFactory) -> None:
    with pytest.raises(ValueError, match="1 cells for 2 episodes"):
        render_page([make_episode(), make_episode()], title="Runs", cells=["base"])


def test_the_page_that_a_turn_acts_on_is_shown_with_its_element_marked(tmp_path: Path) -> None:
    env = gym.make("palaestra/Storefront-v0", surface="pages")
    world = env.unwrapped
    assert isinstance(world, ToolEnv)
    episode = rollout(env, oracle(world.oracle), name="oracle", seed=0, task="storefront/cancel-order/0000")
    file = tmp_path / "page.html"
    file.write_text(render_page([episode], title="Pages"), encoding="utf-8")
    browser = Browser(which("chromium") or "/usr/bin/chromium")
    window = browser.open(held=False, reach=["file:"], size=(1280, 900))
    try:
        for number, turn in enumerate(episode.turns, 1):
            window.page.goto(f"{file.as_uri()}#{urlencode({'episode': f'{episode.task.id}@oracle:0', 'turn': number})}")
            window.page.reload()
            marks = window.run("() => [...document.querySelectorAll('mark')].map((mark) => mark.textContent)")
            named = turn.calls[0].arguments.get("element")
            assert marks == ([] if named is None else [f"[{named}]"])
            if marks:
                before = list(episode.turns)[number - 2].observation[-1]["content"]
                assert window.run("() => document.querySelector('mark').parentElement.textContent") == before
    finally:
        window.close()
        browser.close()
