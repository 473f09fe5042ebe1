"""A person does a task in a browser: what they click and send is an ordinary trajectory, judged as any."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from shutil import which
from typing import Any

import gymnasium as gym
import pytest
from playwright.sync_api import Page, sync_playwright

from palaestra.benchmarks.pages import HandPlay, judge_by_replay, serve_hand_play
from palaestra.envs import ToolEnv
from palaestra.errors import CapabilityError

TASK = "storefront/cancel-order/0000"
CHROMIUM = which("chromium") or "/usr/bin/chromium"


def storefront(**switches: Any) -> ToolEnv:
    world = gym.make("palaestra/Storefront-v0", **switches).unwrapped
    assert isinstance(world, ToolEnv)
    return world


@pytest.fixture
def hand() -> HandPlay:
    return HandPlay(storefront(surface="pages"), TASK)


@contextmanager
def serving(hand: HandPlay) -> Generator[str]:
    server = serve_hand_play(hand)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def window() -> Generator[Page]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium.new_page()
        chromium.close()


def test_a_form_that_a_browser_sends_twice_is_one_action_until_its_answer_is_closed(hand: HandPlay) -> None:
    url, fields = "/do/send_internal_message", {"recipient_id": "EMP-102", "body": "a", "ticket_id": ""}
    hand.open(url)
    assert "is done" in hand.send(url, fields)
    turns = len(list(hand.episode().turns))
    assert "is done" in hand.send(url, fields)
    assert len(list(hand.episode().turns)) == turns
    hand.send(url, {})
    hand.send(url, fields)
    assert sum(change["table"] == "internal_messages" for turn in hand.episode().turns for change in turn.changes) == 2


def test_a_person_solves_a_task_with_the_mouse_and_the_proof_accepts_it(hand: HandPlay) -> None:
    with serving(hand) as origin, window() as page:
        page.goto(f"{origin}/")
        page.click("text=The request")
        assert "ORD-1133" in page.inner_text("main")
        page.goto(f"{origin}/orders/ORD-1133")
        page.click("[data-id='of.customer_id']")
        page.go_back()
        page.goto(f"{origin}/handbook/SHP-2")
        page.goto(f"{origin}/orders/ORD-1133")
        page.click("[data-id='do.cancel_order']")
        assert page.input_value("[data-id='field.order_id']") == "ORD-1133"
        page.click("[data-id='send']")
        assert "is done" in page.inner_text("[role=dialog]")
        page.click("[data-id='dialog.close']")
        page.goto(f"{origin}/_episode/reply")
        page.fill("textarea", "Your order ORD-1133 is cancelled, and nothing will be charged.")
        page.click("[data-id='send']")
        assert "is cancelled" in page.inner_text("main")
        page.goto(f"{origin}/tickets")
        page.goto(f"{origin}/do/resolve_ticket")
        ticket = next(one for one in _texts(hand) if "Ticket TCK-" in one).split("Ticket ")[1].split(",")[0]
        page.fill("[data-id='field.ticket_id']", ticket)
        page.click("[data-id='send']")
        page.goto(f"{origin}/_episode/finish")
        page.click("[data-id='send']")
        assert "accepted. It replays to the same rows" in page.inner_text("main")
    episode = hand.episode()
    assert episode.score.passed, judge_by_replay(storefront(surface="pages"), episode)
    tools = [call.tool for turn in episode.turns for call in turn.calls]
    assert {"click", "goto", "back", "fill", "reply", "finish"} <= set(tools)


def _texts(hand: HandPlay) -> list[str]:
    return [one["content"] for one in hand.episode().segments[0].prompt]


def test_what_is_lacking_and_what_is_forbidden_is_said(hand: HandPlay) -> None:
    hand.open("/orders/ORD-1133")
    shown = hand.send("/_episode/finish", {})
    lines = judge_by_replay(storefront(surface="pages"), hand.episode())
    assert lines[0].endswith("not accepted.")
    assert any(line.startswith("Lacking: Resolved the ticket") for line in lines)
    assert "not accepted" in shown
    assert hand.over
    turns = len(list(hand.episode().turns))
    assert "has ended" in hand.open("/orders")
    hand.send("/", {})
    assert len(list(hand.episode().turns)) == turns, "nothing is done after the end"


def test_a_trajectory_that_was_tampered_with_is_refused(hand: HandPlay) -> None:
    hand.open("/do/cancel_order?order_id=ORD-1133")
    hand.send("/do/cancel_order?order_id=ORD-1133", {"order_id": "ORD-1133"})
    hand.send("/_episode/finish", {})
    other = HandPlay(storefront(surface="pages"), "storefront/cancel-order/0001").episode()
    lines = judge_by_replay(storefront(surface="pages"), replace(hand.episode(), task=other.task))
    assert lines[0].startswith("Refused: ")


def test_a_list_is_narrowed_by_its_form_and_a_reload_does_nothing(hand: HandPlay) -> None:
    hand.open("/orders")
    hand.open("/orders?status=processing")
    before = len(list(hand.episode().turns))
    hand.open("/orders?status=processing")
    calls = [call for turn in hand.episode().turns for call in turn.calls]
    assert len(calls) == before
    acts = [(call.tool, call.arguments.get("element")) for call in calls if call.tool != "scroll"]
    assert acts == [("click", "nav.orders"), ("select_option", "filter.status"), ("click", "filter.find")]


def test_a_long_page_counts_as_seen_to_its_end(hand: HandPlay) -> None:
    hand.open("/handbook/WAR-1")
    hand.open("/do/issue_refund")
    view = hand._browser.view(hand._world.episode.state)
    assert hand._browser.session.tab.scroll + 60 >= view.lines


def test_an_environment_without_pages_is_refused() -> None:
    with pytest.raises(CapabilityError, match="add --surface pages"):
        HandPlay(storefront(), TASK)


def test_other_sites_and_huge_forms_are_refused(hand: HandPlay) -> None:
    with serving(hand) as origin:
        host = origin.removeprefix("http://")

        def asked(method: str, path: str, body: str = "", **headers: str) -> int:
            connection = HTTPConnection(host)
            connection.request(method, path, body=body, headers=headers)
            status = connection.getresponse().status
            connection.close()
            return status

        turns = len(list(hand.episode().turns))
        assert asked("GET", "/orders", Host="evil.test") == 403
        assert asked("POST", "/", "a=1", Origin="http://evil.test") == 403
        assert asked("POST", "/", "a=1") == 403
        assert asked("POST", "/", **{"Content-Length": "3000000"}) == 413
        assert asked("GET", "/nowhere") == 200
        assert asked("GET", "/favicon.ico") == 404
        assert len(list(hand.episode().turns)) == turns + 1


def test_an_address_that_leads_nowhere_is_refused_on_the_page_in_front_until_the_next(hand: HandPlay) -> None:
    shown = hand.open("/nowhere")
    assert "Refused: unknown page" in shown
    assert "nowhere" in shown
    assert "Back office" in shown
    assert "Refused" not in hand.open("/orders")
