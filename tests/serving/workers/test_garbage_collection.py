"""Processes that hold sessions collect rarely, which is safe because what is closed is freed without a collection."""

import gc
import weakref

import pytest

from palaestra.serving.workers import collect_rarely
from palaestra.serving.workers.garbage_collection import COLLECT_AFTER
from served import PLAYER, CoreUnderTest

LOOK = {"tool": "get_member", "arguments": {"member_id": "MEM-1"}}


def test_collections_are_rare_within_the_block_and_as_before_behind_it() -> None:
    former = gc.get_threshold()
    with collect_rarely():
        assert gc.get_threshold() == (COLLECT_AFTER, *former[1:])
    assert gc.get_threshold() == former
    with pytest.raises(KeyError), collect_rarely():
        raise KeyError
    assert gc.get_threshold() == former


def test_a_closed_session_is_freed_without_a_collection() -> None:
    core = CoreUnderTest()
    session = core.begin(PLAYER)
    held = core.core.sessions.peek(session)
    assert held is not None
    env = weakref.ref(held.env)
    del held
    gc.collect()
    gc.disable()
    try:
        core.ask(PLAYER, "step", session=session, action=LOOK)
        core.ask(PLAYER, "close", session=session)
        assert env() is None
    finally:
        gc.enable()
