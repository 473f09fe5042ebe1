"""WebArena-Verified, as it is installed: its evaluators on runs written here, and tasks played in a small site."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.benchmarks.external.installation import require_installed
from palaestra.benchmarks.external.webarena_verified.facts import WEBARENA_VERIFIED
from palaestra.errors import InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-webarena-verified")

PAGES = Path(__file__).parent / "fixtures" / "webarena"
ORDERS = "webarena-verified/shopping_admin/108"


def made(**options: Any) -> ExternalEnv:
    """The environment, without Gymnasium's wrappers. Any: options of `gymnasium.make`."""
    env = gym.make(WEBARENA_VERIFIED.env_id, disable_env_checker=True, **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def answer(task_type: str, data: Any = None, status: str = "SUCCESS") -> dict[str, Any]:
    return {"tool": "respond", "arguments": {"task_type": task_type, "status": status, "retrieved_data": data}}


@pytest.fixture(scope="module")
def listed() -> Iterator[ExternalEnv]:
    env = made()
    yield env
    env.close()


def test_all_812_tasks_are_listed_without_a_site(listed: ExternalEnv) -> None:
    assert len(listed.ids()) == 812
    sizes = [len(listed.ids(category=site)) for site in ("shopping", "shopping_admin", "gitlab", "map", "reddit")]
    assert sizes == [187, 182, 180, 109, 106]


def test_a_task_without_its_site_says_what_to_start(listed: ExternalEnv) -> None:
    with pytest.raises(InfrastructureError, match=r"webarena-verified env start --site shopping_admin.*sites="):
        listed.reset(options={"task": ORDERS})


# Recorded runs


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[ExternalEnv]:
    """A run of task 108 that asked for one page."""
    page = "http://shop.example/admin/reports"
    request: dict[str, Any] = {
        "method": "GET",
        "url": page,
        "headers": [{"name": "accept", "value": "text/html"}],
        "queryString": [],
    }
    content = {"mimeType": "text/html", "text": ""}
    response: dict[str, Any] = {"status": 200, "headers": [], "redirectURL": "", "content": content, "cookies": []}
    folder = tmp_path / "108"
    folder.mkdir()
    (folder / "network.har").write_text(json.dumps({"log": {"entries": [{"request": request, "response": response}]}}))
    env = made(recorded=str(tmp_path), sites={"shopping_admin": "http://shop.example/admin"})
    yield env
    env.close()


def expected() -> list[dict[str, Any]]:
    """What the installed package expects of task 108: its data are not ours to copy."""
    venv = require_installed(WEBARENA_VERIFIED.name, WEBARENA_VERIFIED.installation).python.parents[1]
    (file,) = venv.glob("lib/*/site-packages/webarena_verified/assets/dataset/webarena-verified.json")
    (task,) = [task for task in json.loads(file.read_text()) if task["task_id"] == 108]
    rows: list[dict[str, Any]] = task["eval"][0]["expected"]["retrieved_data"]
    return rows


def judged(env: ExternalEnv, action: Any) -> Any:
    env.reset(options={"task": ORDERS})
    *_, terminated, _, info = env.step(action)
    assert terminated
    return info["score"]


def test_the_package_gives_the_right_answer_everything(recorded: ExternalEnv) -> None:
    score = judged(recorded, answer("RETRIEVE", expected()))
    assert (score.points, score.passed) == (100, True)


def test_the_package_normalises_before_it_compares(recorded: ExternalEnv) -> None:
    rows = [{"month": row["month"][:3], "count": str(row["count"])} for row in reversed(expected())]
    assert judged(recorded, answer("RETRIEVE", rows)).passed


def changed(how: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer that is wrong in one way."""
    answers: dict[str, dict[str, Any]] = {
        "status": answer("RETRIEVE", rows, status="NOT_FOUND_ERROR"),
        "type": answer("MUTATE", rows),
        "missing row": answer("RETRIEVE", rows[:-1]),
        "wrong number": answer("RETRIEVE", [{**rows[0], "count": rows[0]["count"] + 1}, *rows[1:]]),
        "no data": answer("RETRIEVE"),
        "junk": answer("RETRIEVE", {"a": [1, {}]}),
        "no answer": {"tool": "finish", "arguments": {}},
    }
    return answers[how]


@pytest.mark.parametrize("how", ["status", "type", "missing row", "wrong number", "no data", "junk", "no answer"])
def test_a_changed_answer_fails(recorded: ExternalEnv, how: str) -> None:
    score = judged(recorded, changed(how, expected()))
    assert (score.points, score.passed) == (0, False)
    assert not any(verdict.met for verdict in score.verdicts.values())


def test_an_answer_of_unknown_type_is_answered(recorded: ExternalEnv) -> None:
    recorded.reset(options={"task": ORDERS})
    (message,), _, terminated, _, info = recorded.step(answer("READ"))
    assert not terminated
    assert info["events"][0].error == "invalid_arguments"
    assert "RETRIEVE, MUTATE, NAVIGATE" in str(message["content"])


# Played


class Shop(SimpleHTTPRequestHandler):
    """The pages, and a review that is taken."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"<!doctype html><p>Thank you.</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as the standard library names it
        """Say nothing."""


@pytest.fixture(scope="module")
def shop() -> Iterator[ExternalEnv]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Shop, directory=str(PAGES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    env = made(sites={"shopping": site}, tasks=str(PAGES / "tasks.json"))
    yield env
    env.close()
    server.shutdown()
    server.server_close()


class Visit:
    """An episode in the shop."""

    def __init__(self, env: ExternalEnv, task: int) -> None:
        self._env = env
        observation, _ = env.reset(options={"task": f"webarena-verified/shopping/{task}"})
        self.page, self.info = str(observation[-1]["content"]), dict[str, Any]()

    def do(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        observation, *_, self.info = self._env.step({"tool": tool, "arguments": arguments})
        self.page = str(observation[-1]["content"])
        return self.info

    def ref(self, shown: str) -> int:
        found = re.search(rf"\[(\d+)\] {shown}", self.page)
        assert found is not None, self.page
        return int(found[1])


def test_data_are_retrieved(shop: ExternalEnv) -> None:
    visit = Visit(shop, 1)
    visit.do("click", ref=visit.ref('a "Teapot"'))
    assert "Price: $24.50" in visit.page
    assert visit.do(**{"tool": "respond", **answer("RETRIEVE", ["24.50"])["arguments"]})["score"].passed


def test_a_change_counts_only_when_its_request_was_made(shop: ExternalEnv) -> None:
    visit = Visit(shop, 2)
    visit.do("click", ref=visit.ref('a "Teapot"'))
    visit.do("select", ref=visit.ref("select"), options=["5"])
    visit.do("type", ref=visit.ref("textarea"), text="keeps warm")
    visit.do("click", ref=visit.ref('button "Send"'))
    assert "Thank you." in visit.page
    score = visit.do("respond", task_type="MUTATE", status="SUCCESS")["score"]
    assert (score.points, score.passed) == (100, True)
    idle = Visit(shop, 2).do("respond", task_type="MUTATE", status="SUCCESS")["score"]
    assert (idle.points, idle.passed) == (0, False)
    assert {name: verdict.met for name, verdict in idle.verdicts.items()} == {
        "0-AgentResponse": True,
        "1-NetworkEvent": False,
    }


def test_a_change_with_other_words_fails(shop: ExternalEnv) -> None:
    visit = Visit(shop, 2)
    visit.do("click", ref=visit.ref('a "Teapot"'))
    visit.do("select", ref=visit.ref("select"), options=["4"])
    visit.do("type", ref=visit.ref("textarea"), text="keeps warm")
    visit.do("click", ref=visit.ref('button "Send"'))
    assert not visit.do("respond", task_type="MUTATE", status="SUCCESS")["score"].passed


def test_the_agent_stays_within_the_sites(shop: ExternalEnv) -> None:
    visit = Visit(shop, 3)
    visit.do("go", url="http://example.com/")
    assert visit.info["events"][0].error == "invalid_arguments"
    visit.do("click", ref=visit.ref('a "Lamp"'))
    visit.do("back")
    assert "A small shop" in visit.page


def test_a_page_has_to_be_shown(shop: ExternalEnv) -> None:
    visit = Visit(shop, 3)
    visit.do("click", ref=visit.ref('a "Lamp"'))
    assert visit.do("respond", task_type="NAVIGATE", status="SUCCESS")["score"].passed
    visit = Visit(shop, 3)
    visit.do("click", ref=visit.ref('a "Teapot"'))
    assert not visit.do("respond", task_type="NAVIGATE", status="SUCCESS")["score"].passed
