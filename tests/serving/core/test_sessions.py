"""Sessions: whose they are, how long they last, that a request runs once, that an episode counts once or is void."""

from dataclasses import replace
from typing import Any

import pytest

from palaestra.envs.check.subject import as_action, make
from palaestra.envs.world import open_world
from palaestra.records import EndReason
from palaestra.serving.access import KeyScope
from palaestra.serving.core import NOT_BEGUN, LedgerOutcome
from served import ADMIN, AUTHOR, OTHER, PLAYER, READER, CoreUnderTest, caller
from worlds.registration import LIBRARY_ID

FINISH: dict[str, Any] = {"tool": "finish", "arguments": {}}
LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}
OF_A_SESSION: dict[str, dict[str, Any]] = {
    "reset": {"seed": 0},
    "step": {"action": LOOK},
    "end": {},
    "fork": {},
    "snapshot": {},
    "heartbeat": {},
    "observe": {},
    "close": {},
    "restore": {"snapshot": "id-99"},
}


@pytest.fixture
def core() -> CoreUnderTest:
    return CoreUnderTest()


@pytest.mark.parametrize("name", OF_A_SESSION)
def test_another_owners_session_reads_as_one_that_is_not_there(core: CoreUnderTest, name: str) -> None:
    session = core.begin(PLAYER)
    theirs = core.refusal(OTHER, name, session=session, **OF_A_SESSION[name])
    nobodys = core.refusal(OTHER, name, session="no-such", **OF_A_SESSION[name])
    assert theirs == (nobodys[0], nobodys[1].replace("no-such", session))
    assert theirs[0] == "no_session"
    assert core.ask(PLAYER, "step", session=session, action=LOOK)["turn"] == 1


def test_an_author_cannot_inspect_what_another_created(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    assert core.refusal(AUTHOR, "inspect", session=session, parts=["digest"])[0] == "no_session"
    handed = core.begin(AUTHOR, player="author-2")
    second = caller("author-2", KeyScope.AUTHOR)
    assert core.ask(second, "step", session=handed, action=LOOK)["turn"] == 1
    assert core.refusal(second, "inspect", session=handed, parts=["digest"]) == (
        "request",
        "only the creator of a session may inspect it",
    )


def test_another_owners_snapshot_cannot_be_restored_or_dropped(core: CoreUnderTest) -> None:
    taken = core.ask(PLAYER, "snapshot", session=core.begin(PLAYER))["snapshot"]
    theirs = core.begin(OTHER)
    assert core.refusal(OTHER, "restore", session=theirs, snapshot=taken)[0] == "no_session"
    assert core.refusal(OTHER, "drop", snapshot=taken)[0] == "no_session"
    assert core.ask(PLAYER, "drop", snapshot=taken) == {}
    assert core.refusal(PLAYER, "drop", snapshot=taken)[0] == "no_session"


def test_a_snapshot_of_another_creator_is_not_restored_by_a_player_of_both(core: CoreUnderTest) -> None:
    second = caller("author-2", KeyScope.AUTHOR)
    taken = core.ask(PLAYER, "snapshot", session=core.begin(AUTHOR, player="player"))["snapshot"]
    session = core.begin(second, player="player")
    assert core.refusal(PLAYER, "restore", session=session, snapshot=taken)[0] == "request"


def test_a_request_that_is_sent_again_is_answered_again_and_not_run_again(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    item = {"session": session, "action": LOOK, "request": "r1"}
    first = core.send(PLAYER, "step", item)
    assert core.send(PLAYER, "step", item, item) == first[:-2] + b"," + first[len(b'{"results":[') :]
    assert core.ask(PLAYER, "step", session=session, action=LOOK, request="r2")["turn"] == 2


def test_the_last_step_of_an_episode_counts_once_however_often_it_is_sent(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    item = {"session": session, "action": FINISH, "request": "end"}
    assert core.send(PLAYER, "step", item) == core.send(PLAYER, "step", item)
    assert [entry.outcome for entry in core.entries] == [LedgerOutcome.COUNTED]
    assert core.refusal(PLAYER, "step", session=session, action=LOOK)[0] == "episode_over"
    core.check_account()


@pytest.mark.parametrize("name", ["create", "fork", "snapshot", "reset"])
def test_sent_again_these_too_run_once(core: CoreUnderTest, name: str) -> None:
    session = core.begin(PLAYER)
    item: dict[str, Any] = {"request": "once", "session": session}
    if name == "create":
        item = {"request": "once", "world": "library"}
    elif name == "reset":
        item["seed"] = 5
    first = core.send(PLAYER, name, item)
    before = (len(core.core.sessions), len(core.core.snapshots), core.core.ledger.episodes_begun)
    assert core.send(PLAYER, name, item) == first
    assert (len(core.core.sessions), len(core.core.snapshots), core.core.ledger.episodes_begun) == before


def test_creations_that_are_sent_again_after_others_are_still_answered(core: CoreUnderTest) -> None:
    items = [{"world": "library", "request": f"c{number}"} for number in range(20)]
    assert core.send(PLAYER, "create", *items) == core.send(PLAYER, "create", *items)
    assert len(core.core.sessions) == 20


@pytest.mark.parametrize(
    ("again", "why"),
    [
        ({"action": FINISH, "request": "r1"}, "was another request"),
        ({"action": LOOK, "request": "r0"}, "its answer is no longer kept"),
    ],
)
def test_a_request_key_that_does_not_fit_is_refused_and_nothing_runs(
    core: CoreUnderTest, again: dict[str, Any], why: str
) -> None:
    session = core.begin(PLAYER)
    for key in ("r0", "r1"):
        core.ask(PLAYER, "step", session=session, action=LOOK, request=key)
    code, message = core.refusal(PLAYER, "step", session=session, **again)
    assert code == "conflict"
    assert why in message
    assert core.ask(PLAYER, "step", session=session, action=LOOK, turn=2)["turn"] == 3


def test_a_player_is_not_given_the_authors_answer_by_its_request_key(core: CoreUnderTest) -> None:
    session = core.begin(AUTHOR, player="player")
    core.ask(AUTHOR, "step", session=session, action=LOOK, request="r1")
    assert core.refusal(PLAYER, "step", session=session, action=LOOK, request="r1")[0] == "conflict"


def test_a_step_that_states_another_turn_is_not_run(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    assert core.refusal(PLAYER, "step", session=session, action=LOOK, turn=1)[0] == "conflict"
    assert core.ask(PLAYER, "step", session=session, action=LOOK, turn=0)["turn"] == 1


def test_a_client_that_vanished_loses_its_session_and_its_episode_is_void(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER, lease=30)
    taken = core.ask(PLAYER, "snapshot", session=session)["snapshot"]
    core.clock.now = 29.0
    core.ask(PLAYER, "heartbeat", session=session)
    core.clock.now = 58.0
    assert core.core.expire() == 0
    core.clock.now = 59.0
    assert core.core.expire() == 1
    assert len(core.core.sessions) == 0
    assert [entry.outcome for entry in core.entries] == [LedgerOutcome.LEASE]
    code, message = core.refusal(PLAYER, "step", session=session, action=LOOK)
    assert code == "lost"
    assert "longer than its lease" in message
    assert core.refusal(OTHER, "step", session=session, action=LOOK)[0] == "no_session"
    core.clock.now += core.core.limits.snapshot_lease
    assert core.core.expire() == 1
    assert core.refusal(PLAYER, "restore", session=core.begin(PLAYER), snapshot=taken)[0] == "no_session"
    core.check_account()


def test_a_lease_that_ran_out_is_out_before_anybody_looks(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER, lease=30)
    core.clock.now = 30.0
    assert core.refusal(PLAYER, "heartbeat", session=session)[0] == "lost"
    core.check_account()


def test_a_lease_longer_than_the_longest_is_refused(core: CoreUnderTest) -> None:
    assert core.refusal(PLAYER, "create", world="library", lease=7_201)[0] == "request"


def test_sessions_and_snapshots_of_an_owner_are_limited_and_others_go_on() -> None:
    core = CoreUnderTest(owner_sessions=2, owner_snapshots=1, sessions=3)
    first = core.begin(PLAYER)
    core.ask(PLAYER, "fork", session=first)
    assert core.refusal(PLAYER, "create", world="library")[0] == "limit"
    assert core.refusal(PLAYER, "fork", session=first)[0] == "limit"
    core.ask(PLAYER, "snapshot", session=first)
    assert core.refusal(PLAYER, "snapshot", session=first)[0] == "limit"
    core.begin(OTHER)
    assert core.refusal(OTHER, "create", world="library")[0] == "limit"
    core.ask(PLAYER, "close", session=first)
    core.begin(OTHER)
    core.check_account()


def crash(*_: object, **__: object) -> object:
    raise ZeroDivisionError("storefront/secret-family/0007")


def test_a_crash_of_a_tool_makes_the_episode_void_and_tells_a_player_nothing(
    core: CoreUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolbox = open_world(LIBRARY_ID).toolbox
    monkeypatch.setitem(toolbox._tools, "get_member", replace(toolbox["get_member"], function=crash))
    session, authors = core.begin(PLAYER), core.begin(AUTHOR)
    code, message = core.refusal(PLAYER, "step", session=session, action=LOOK, request="r1")
    assert (code, message) == ("fault", "the world failed and the episode is void; reset the session")
    assert "ZeroDivisionError" in core.refusal(AUTHOR, "step", session=authors, action=LOOK)[1]
    for name, fields in {"step": {"action": FINISH}, "end": {}, "fork": {}, "snapshot": {}}.items():
        assert core.refusal(PLAYER, name, session=session, **fields)[0] == "episode_over"
    assert [entry.outcome for entry in core.entries] == [LedgerOutcome.FAULT] * 2
    core.ask(PLAYER, "reset", session=session, seed=1)
    assert core.ask(PLAYER, "step", session=session, action=FINISH)["end"] == "finished"
    assert core.entries[-1].outcome == LedgerOutcome.COUNTED
    core.check_account()


def test_an_action_that_is_none_costs_nothing(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]
    for action in (5, None, {"call": 1}, {"tool": "get_member", "arguments": {"member_id": deep}}):
        assert core.refusal(PLAYER, "step", session=session, action=action)[0] == "action"
    assert core.ask(PLAYER, "step", session=session, action="<tool_call>{", turn=0)["unreadable"]


def test_one_bad_item_does_not_disturb_the_others(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    items = [
        {"session": session, "action": LOOK},
        {"session": "none", "action": LOOK},
        {"session": session, "action": LOOK},
    ]
    answer = core.send(PLAYER, "step", *items)
    assert answer.count(b'{"ok":') == 2
    assert answer.count(b'"no_session"') == 1


@pytest.mark.parametrize("name", ["step", "end", "fork", "snapshot"])
def test_before_the_first_reset_there_is_nothing_to_play(core: CoreUnderTest, name: str) -> None:
    session = core.ask(PLAYER, "create", world="library")["session"]
    fields = {"action": LOOK} if name == "step" else {}
    assert core.refusal(PLAYER, name, session=session, **fields)[0] == "episode_over"
    assert core.core.ledger.episodes_begun == 0


def test_a_world_or_task_that_is_not_served_is_refused_and_the_episode_goes_on(core: CoreUnderTest) -> None:
    assert core.refusal(PLAYER, "create", world="bank")[0] == "no_session"
    assert core.refusal(PLAYER, "tasks", world="bank")[0] == "no_session"
    session = core.begin(PLAYER)
    assert core.refusal(PLAYER, "reset", session=session, seed=1, task="library/lend-book/0000")[0] == "request"
    assert core.ask(PLAYER, "step", session=session, action=LOOK)["turn"] == 1
    assert core.core.ledger.running == 1


def test_leaving_an_episode_before_its_end_makes_it_void(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    taken = core.ask(PLAYER, "snapshot", session=session)["snapshot"]
    core.ask(PLAYER, "reset", session=session, seed=1)
    core.ask(PLAYER, "restore", session=session, snapshot=taken)
    core.ask(PLAYER, "close", session=session)
    assert core.ask(PLAYER, "close", session=session) == {}
    assert [entry.outcome for entry in core.entries] == [LedgerOutcome.LEFT] * 3
    core.check_account()


def test_an_episode_that_its_player_ends_is_judged_as_one_whose_budget_is_spent(core: CoreUnderTest) -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=0)
    session = core.begin(PLAYER, world="paid")
    for call in env.oracle()[:-1]:
        env.step(as_action(call))
        core.ask(PLAYER, "step", session=session, action=as_action(call))
    judged, before = env.score(EndReason.TIME_BUDGET).points, env.score().points
    assert judged < before
    assert core.ask(PLAYER, "end", session=session, reason="time_budget") == {"end": "time_budget", "points": judged}
    assert core.ask(PLAYER, "end", session=session) == {"end": "time_budget", "points": judged}
    for name, fields in {"step": {"action": FINISH}, "fork": {}, "snapshot": {}}.items():
        assert core.refusal(PLAYER, name, session=session, **fields)[0] == "episode_over"
    assert [(entry.outcome, entry.points) for entry in core.entries] == [(LedgerOutcome.COUNTED, judged)]
    core.ask(PLAYER, "reset", session=session, seed=0)
    assert core.ask(PLAYER, "step", session=session, action=FINISH)["end"] == "finished"
    assert core.ask(PLAYER, "end", session=session)["end"] == "finished"
    assert len(core.entries) == 2
    core.check_account()


def test_a_player_without_rewards_is_not_shown_the_points_of_an_end(core: CoreUnderTest) -> None:
    assert core.ask(PLAYER, "end", session=core.begin(PLAYER)) == {"end": "token_budget"}
    session = core.begin(AUTHOR)
    points = core.ask(AUTHOR, "end", session=session)["points"]
    assert core.ask(AUTHOR, "inspect", session=session, parts=["score"])["score"]["points"] == points


def test_a_copy_of_an_episode_that_is_over_is_not_counted_again(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    core.ask(PLAYER, "step", session=session, action=FINISH)
    fork = core.ask(PLAYER, "fork", session=session)["session"]
    taken = core.ask(PLAYER, "snapshot", session=session)["snapshot"]
    core.ask(PLAYER, "restore", session=fork, snapshot=taken)
    assert core.refusal(PLAYER, "step", session=fork, action=LOOK)[0] == "episode_over"
    assert (core.core.ledger.episodes_begun, len(core.entries)) == (1, 1)


def test_a_server_that_stops_makes_what_runs_void_and_says_so(core: CoreUnderTest) -> None:
    sessions = [core.begin(PLAYER), core.begin(AUTHOR)]
    core.ask(PLAYER, "step", session=sessions[0], action=FINISH)
    core.core.stop()
    assert [entry.outcome for entry in core.entries] == [LedgerOutcome.COUNTED, LedgerOutcome.STOPPED]
    assert core.refusal(PLAYER, "heartbeat", session=sessions[0])[0] == "lost"
    core.check_account()


def test_an_administrator_closes_any_session_and_plays_none(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    assert core.refusal(ADMIN, "step", session=session, action=LOOK)[0] == "no_session"
    assert core.ask(ADMIN, "close", session=session) == {}
    assert core.refusal(PLAYER, "step", session=session, action=LOOK)[0] == "lost"


def test_who_may_read_sees_all_sessions_and_others_their_own(core: CoreUnderTest) -> None:
    session = core.begin(PLAYER)
    core.begin(AUTHOR, player="other")
    assert [one["session"] for one in core.core.listing(PLAYER)] == [session]
    assert len(core.core.listing(READER)) == 2
    assert len(core.core.listing(OTHER)) == 1
    assert not {"task", "family", "seed"} & {key for one in core.core.listing(READER) for key in one}


@pytest.mark.parametrize("text", ["", "{", 5, None, {"tool": "finish"}, "[" * 100_000, "1" * 5_000])
def test_text_that_should_hold_an_action_and_holds_none_is_refused_and_no_turn(core: CoreUnderTest, text: Any) -> None:
    session = core.begin(PLAYER)
    code, message = core.refusal(PLAYER, "step", session=session, action=text, as_json=True)
    assert (code, message[:8]) == ("request", "as_json:")
    code, _ = core.refusal(PLAYER, "step", session=session, action="[" * 90 + "]" * 90, as_json=True)
    assert code == "action"
    assert core.ask(PLAYER, "observe", session=session)["turn"] == 0


@pytest.mark.parametrize("name", ["step", "end", "fork", "snapshot", "observe"])
def test_before_the_first_reset_everything_says_how_an_episode_begins(core: CoreUnderTest, name: str) -> None:
    session = core.ask(PLAYER, "create", world="library")["session"]
    more = {"action": "x"} if name == "step" else {}
    assert core.refusal(PLAYER, name, session=session, **more) == ("episode_over", NOT_BEGUN)
