"""Documents are found in answers whatever stands around them."""

import pytest

from palaestra.proof.authoring.answer import find_document

DOCUMENT = "id: my-world\ntitle: A world\nteams:\n- one\n- two\n\nrules:\n  days: {value: 3}"


@pytest.mark.parametrize(
    "answer",
    [
        DOCUMENT,
        f"Sure! Here is it:\n\n{DOCUMENT}\n\nI hope that it helps.",
        f"Sure:\n```yaml\n{DOCUMENT}\n```\nDone.",
        f"```\n{DOCUMENT}\n```",
        f"~~~yml\n{DOCUMENT}\n~~~",
        f"<think>id: draft\n```yaml\nid: x\n```</think>\n{DOCUMENT}",
        f"Run this:\n```sh\npalaestra\n```\n```yaml\n{DOCUMENT}\n```",
        DOCUMENT.replace("\n", "\r\n"),
    ],
)
def test_prose_fences_and_thinking_are_left_out(answer: str) -> None:
    found = find_document(answer)
    assert (found.text, found.fault) == (DOCUMENT, "")


def test_json_is_a_document() -> None:
    assert (
        find_document('Here:\n{"id": "my-world",\n "title": "x"\n}\nBye.').text
        == '{"id": "my-world",\n "title": "x"\n}'
    )


@pytest.mark.parametrize("answer", ["", "No.", "<think>id: x", "The id: is missing", "```\nplain\n```"])
def test_an_answer_without_a_document_says_how_to_begin(answer: str) -> None:
    found = find_document(answer)
    assert (found.text, found.fault) == ("", "the answer has no document; begin with `id: my-world`")
