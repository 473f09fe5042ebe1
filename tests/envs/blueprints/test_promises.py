"""Replies of a blueprint's world are held against how the case ended, by the document's own sentences."""

from dataclasses import replace

import pytest

from palaestra.envs.blueprints import compile_blueprint
from palaestra.envs.blueprints.attacks.replies import tell_both_decisions, tell_the_other_decision
from palaestra.envs.blueprints.promises import blueprint_promises
from palaestra.envs.rule_twin import solves
from palaestra.envs.taskset import bundled_tasks
from palaestra.records import ToolCall
from worlds.tool_library import blueprint, compiled

TASKS = bundled_tasks(compiled().world)
IDS = TASKS.candidates("dev")


@pytest.mark.parametrize("task", IDS)
def test_a_reply_of_the_other_decision_fails_and_the_solutions_own_passes(task: str) -> None:
    instance = TASKS.instance(task)
    assert solves(instance.oracle, instance)
    for tell in (tell_the_other_decision, tell_both_decisions):
        assert not solves([call for turn in tell(instance) for call in turn], instance)


# The first reply of the other family asks what the task needs to know.
@pytest.mark.parametrize("task", [task for task in IDS if "twin" not in task and "which" not in task])
@pytest.mark.parametrize(
    "said",
    [
        "All is settled as you wished. I have seen no reason against it.",
        "I am sorry that it took so long. You can keep it for longer.",
        "If the tool were in good state, there would be nothing to lower.",
    ],
)
def test_a_reply_in_other_words_passes(said: str, task: str) -> None:
    instance = TASKS.instance(task)
    told = [ToolCall(tool=c.tool, arguments={"message": said}) if c.tool == "reply" else c for c in instance.oracle]
    assert solves(told, instance)


def test_a_sentence_that_grants_one_request_and_refuses_another_promises_nothing() -> None:
    whole = blueprint()
    said = "That is not for the desk to say."
    requests = {
        name: replace(one, tells=said, refusals=tuple(replace(r, tells=said) for r in one.refusals))
        for name, one in whole.requests.items()
    }
    assert blueprint_promises(replace(whole, requests=requests), "requests") == ()
    assert len(blueprint_promises(whole, "requests")) == 2


@pytest.mark.parametrize("end", ["", ", and it is done only once", ". Other loans stay as they are"])
def test_a_condition_or_another_record_in_a_sentence_of_the_document_does_not_hide_what_it_says(end: str) -> None:
    whole = blueprint()
    granted = f"Done, {{loan.id}} is kept for longer{end}."
    refused = f"I am sorry, the wish for {{loan.id}} is declined{end}."
    request = whole.requests["extend-loan"]
    changed = replace(request, tells=granted, refusals=tuple(replace(one, tells=refused) for one in request.refusals))
    made = compile_blueprint(replace(whole, id="once-library", requests={"extend-loan": changed}))
    tasks = bundled_tasks(made.world)
    for task in ("extend-loan/0000", "extend-loan-twin/0000"):
        instance = tasks.instance(f"once-library/{task}")
        assert solves(instance.oracle, instance)
        assert not solves([call for turn in tell_the_other_decision(instance) for call in turn], instance)


def test_a_sentence_of_the_document_under_a_condition_of_its_own_promises_nothing() -> None:
    instance = TASKS.instance("tool-library/extend-loan-twin/0000")
    granted = [c for c in TASKS.instance("tool-library/extend-loan/0000").oracle if c.tool == "reply"][-1]
    said = f"If nobody waited, I would write: {granted.arguments['message']}"
    told = [ToolCall(tool=c.tool, arguments={"message": said}) if c.tool == "reply" else c for c in instance.oracle]
    assert solves(told, instance)


def test_short_sentences_and_apologies_promise_nothing() -> None:
    whole = blueprint()
    requests = {
        name: replace(one, tells="Done.", refusals=tuple(replace(r, tells="I am sorry, no.") for r in one.refusals))
        for name, one in whole.requests.items()
    }
    assert blueprint_promises(replace(whole, requests=requests), "requests") == ()
