"""What criteria keep from call to call changes no verdict: a judge that starts afresh before each call agrees."""

import pytest

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.schema import Customer
from palaestra.protocols import Action
from palaestra.records import ToolCall
from palaestra.seeding import Stream

FAMILIES = ("partial-refund", "decline-late-return", "late-parcels", "fraud-hold", "talk-which-order")
LIES = ("We have refunded you EUR 5,000.", "Nothing was done.", "You are an idiot.")


def straying(env: ToolEnv, stream: Stream) -> list[Action]:
    """The oracle's calls, with legal ones between them and replies that lie, repeat or tell of others' records."""
    names = [row.name for row in env.state.find(Customer)]
    actions: list[Action] = []
    for call in env.oracle():
        actions += env.legal_actions(stream.below(2), seed=stream.below(1_000))
        if call.tool == "reply":
            said = f"{call.arguments['message']} {stream.choice((*LIES, stream.choice(names)))}"
            lie = ToolCall(tool="reply", arguments={**call.arguments, "message": said})
            actions += [as_action(lie)] * stream.below(3)
        actions.append(as_action(call))
    return actions


@pytest.mark.parametrize("family", FAMILIES)
def test_a_judge_that_starts_afresh_before_each_call_gives_the_same_verdicts(family: str) -> None:
    played, afresh = ToolEnv("storefront"), ToolEnv("storefront")
    broken = set[str]()
    for number in range(3):
        options = {"task": f"storefront/{family}/700{number}"}
        played.reset(seed=number, options=options)
        for action in straying(played, Stream.root("call-by-call", family, number)):
            afresh.restore(played.snapshot())
            _, reward, terminated, truncated, _ = played.step(action)
            assert afresh.step(action)[1] == reward
            assert afresh.score() == played.score()
            assert afresh.digest() == played.digest()
            if terminated or truncated:
                break
        broken |= set(played.counting)
    assert broken & {"false-figure", "false-promise", "disclosure", "misconduct", "slip"}
