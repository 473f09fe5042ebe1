"""The compact format for new worlds: its marks are those of no world, and its prompt lists the tools."""

import pytest

from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools import CompactFormat, CompactToolsFormat, Mark
from palaestra.tools.formats.handles import PER_KIND, Handles, is_handle, neutral_marks

FORM = CompactToolsFormat()
TOOLS: list[JsonSchema] = [
    {
        "type": "function",
        "function": {
            "name": "get_loan",
            "parameters": {
                "properties": {
                    "loan_id": {"type": "string", "description": "Such as LN-1001."},
                    "limit": {"type": "integer"},
                }
            },
        },
    },
    {"type": "function", "function": {"name": "finish"}},
]
OPENING: list[Message] = [
    {"role": "system", "content": "It is 2031-01-20 today."},
    {"role": "user", "content": "Is LN-1042 of MB-7001 late? EUR 1,250.00 is owed."},
]


def test_marks_are_the_same_for_every_world() -> None:
    corpus = [["Of a ", Mark("<loan.0>")], ["and an ", Mark("<order.3>")]]
    assert FORM.marks([]) == FORM.marks(corpus)
    assert set(FORM.marks([])) > set(neutral_marks())
    assert Mark("<loan.0>") not in FORM.marks(corpus)
    assert Mark("<loan.0>") in CompactFormat().marks(corpus)


def test_the_prompt_lists_tools_as_calls_begin_and_goes_on_as_compact_does() -> None:
    opening = FORM.rendering().opening(OPENING, TOOLS)
    assert opening[:2] == [Mark("<|tool|>"), "get_loan loan_id= limit=\nfinish"]
    plain = CompactFormat().rendering().opening(OPENING, TOOLS)
    assert [piece for piece in opening[2:] if not is_handle(piece)] == [p for p in plain if not is_handle(p)]
    assert len(opening[2:]) == len(plain)


def test_handles_of_records_are_letters_in_order_and_mean_their_values() -> None:
    rendering = FORM.rendering()
    opening = rendering.opening(OPENING, TOOLS)
    handles = [piece for piece in opening if is_handle(piece)]
    assert handles == ["<date.0>", "<a.0>", "<b.0>", "<amount.0>"]
    assert set(handles) <= set(FORM.marks([]))
    call = ToolCall(tool="get_loan", arguments={"loan_id": "LN-1042"})
    written = rendering.write_turn([call])
    assert written == ["get_loan loan_id=", "<a.0>", FORM.end]
    assert FORM.parse(rendering.read(written)).calls == (call,)


def test_a_handle_that_nothing_has_shown_is_unreadable() -> None:
    rendering = FORM.rendering()
    rendering.opening(OPENING, TOOLS)
    error = FORM.parse(rendering.read(["get_loan loan_id=", Mark("<c.0>"), FORM.end])).error
    assert error == "nothing has shown <c.0> yet; use the handle of a value that a message shows"


@pytest.mark.parametrize("kinds", [1, 16, 40])
def test_every_kind_has_a_letter_and_every_value_a_handle_of_its_own(kinds: int) -> None:
    handles = Handles(neutral=True)
    marks = [handles.show(f"K{kind}-{number}", f"kind{kind}") for kind in range(kinds) for number in range(2)]
    assert None not in marks
    assert len(set(marks)) == 2 * kinds
    assert set(marks) <= set(neutral_marks())
    assert handles.find("K0-1") == "<a.1>"


def test_common_kinds_keep_their_names() -> None:
    handles = Handles(neutral=True)
    assert [handles.show(5000, "amount"), handles.show("2031-01-20", "date")] == ["<amount.0>", "<date.0>"]
    assert len(neutral_marks()) == len(set(neutral_marks())) == 20 * PER_KIND
