"""Action strings of BrowserGym and UI-TARS: what is read, and what is refused."""

import pytest

from palaestra.records import ToolCall
from palaestra.tools import FORMATS

BROWSERGYM, UI_TARS = FORMATS.get("browsergym"), FORMATS.get("ui-tars")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("click(", "no action can be read"),
        ("click('a'", "no action can be read"),
        ("click(bid)", "no literal"),
        ("click('a', 'left', [], 'more')", "takes 3 arguments"),
        ("fill('a', value='b', bid='c')", "twice"),
        ("fill('a', **{'value': 'b'})", "without a name"),
        ("click('a') + 1", "is no action"),
        ("click('a')\nx = 1", "is no action"),
        ("eval(open('/etc/passwd').read())", "without a name"),
        ("noop({1: 2})", "is no text"),
        ("noop(b'a')", "is no text"),
        ("click('a')" * 3_000, "letters"),
        ("click(" + "[" * 5_000 + ")", "no action can be read"),
        ("click('a\x00')", "no action can be read"),
    ],
)
def test_what_is_no_action_is_unreadable(text: str, said: str) -> None:
    turn = BROWSERGYM.parse(text)
    assert turn.calls == ()
    assert said in (turn.error or "")


def test_positions_are_names_and_prose_is_prose() -> None:
    turn = BROWSERGYM.parse("```\nfill('a.b', 'it\\'s')\nscroll(0, -500)\n```")
    assert turn.calls == (
        ToolCall(tool="fill", arguments={"bid": "a.b", "value": "it's"}),
        ToolCall(tool="scroll", arguments={"delta_x": 0, "delta_y": -500}),
    )
    assert BROWSERGYM.parse("I see (nothing) here.").prose == "I see (nothing) here."


def test_ui_tars_thinks_before_its_action() -> None:
    turn = UI_TARS.parse("Thought: I click(the) order.\nAction: click(start_box='(640,10)')")
    assert turn.calls == (ToolCall(tool="click", arguments={"start_box": "(640,10)"}),)


@pytest.mark.parametrize("format_name", ["browsergym", "ui-tars"])
def test_what_is_written_is_read_back(format_name: str) -> None:
    calls = (
        ToolCall(tool="click", arguments={"start_box": "(1,2)"}),
        ToolCall(tool="fill", arguments={"value": 'a"\n\\b', "bid": "x"}),
        ToolCall(tool="finish", arguments={"answer": {"total": 3, "paid": True, "name": "Zoë"}}),
        ToolCall(tool="noop", arguments={}),
        ToolCall(tool="select_option", arguments={"bid": "x", "options": ["a", None, 1.5]}),
    )
    chosen = FORMATS.get(format_name)
    assert chosen.parse(chosen.render(calls)).calls == calls
