"""The format `python`: what is code, what is said, and what can be read as neither."""

import pytest

from palaestra.records import ToolCall
from palaestra.tools import FORMATS
from palaestra.tools.formats.python_code import MAX_CODE

PYTHON = FORMATS.get("python")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nlook(id='A')\n```", "look(id='A')"),
        ("First this.\n```py\nx = 1\n\nlook()\n```\nThen that.", "x = 1\n\nlook()"),
        ("```\nlook()\n```", "look()"),
        ("```python\na = 1\n```\nand\n```python\nlook(a=a)\n```", "a = 1\nlook(a=a)"),
        ("<think>```python\ndrop()\n```</think>\n```Python\nlook()\n```", "look()"),
        ("  ```python  \n  look()\n  ```", "  look()"),
        ("```python\n```", ""),
    ],
)
def test_code_stands_in_blocks(text: str, program: str) -> None:
    parsed = PYTHON.parse(text)
    assert (parsed.program, parsed.calls, parsed.error) == (program, (), None)


@pytest.mark.parametrize(
    "text", ["One moment.", "It costs 5 EUR (five).", "`look()` shows it", "I call look(id) then."]
)
def test_text_without_a_block_is_prose(text: str) -> None:
    parsed = PYTHON.parse(text)
    assert (parsed.prose, parsed.program, parsed.error) == (text, None, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the turn is empty"),
        ("<think>hm", "<think> is never closed"),
        ("```python\nlook()", "never closed"),
        ("```json\n{}\n```", "a block that opens with '```json'"),
        ("look(id='A')", "this call stands bare"),
        ("So:\nx = look(id='A')\n", "this call stands bare"),
        (f"```python\n{'#' * (MAX_CODE + 1)}\n```", f"{MAX_CODE} are taken at most"),
    ],
)
def test_what_can_be_read_as_neither_is_explained(text: str, says: str) -> None:
    parsed = PYTHON.parse(text)
    assert (parsed.program, parsed.calls) == (None, ())
    assert parsed.error is not None
    assert says in parsed.error


def test_calls_are_written_as_code_that_prints_their_answers() -> None:
    calls = [
        ToolCall(tool="look", arguments={"id": "A", "n": [1, None]}),
        ToolCall(tool="drop", arguments={"class": 1}),
    ]
    text = PYTHON.render(calls, "First this.")
    assert text == "First this.\n```python\nprint(look(id='A', n=[1, None]))\nprint(drop(**{'class': 1}))\n```"
    assert PYTHON.parse(text).program == "print(look(id='A', n=[1, None]))\nprint(drop(**{'class': 1}))"
    assert PYTHON.render([], "Hello.") == "Hello."
