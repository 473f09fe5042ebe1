"""`palaestra rubrics derive`: two rubrics side by side, their agreement, and one sentence for each mistake."""

import sys
from pathlib import Path

import orjson
import pytest

from palaestra.cli import main

TASK_FILE = Path(__file__).parents[2] / "examples" / "tasks" / "new_phone_number.py"


def call(
    *arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[object, str, str]:
    """The exit code, the output and the errors of a command."""
    monkeypatch.setattr(sys, "argv", ["palaestra", "rubrics", "derive", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def test_a_task_is_shown_with_both_rubrics_and_their_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agreement.json"
    arguments = ("storefront/new-phone-number/0000", "--tasks", str(TASK_FILE), "--json", str(file))
    code, shown, told = call(*arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0, told
    document = orjson.loads(file.read_bytes())
    assert f"{document['percent']:.2f} % of {document['pieces']} pieces of work are judged alike" in shown
    assert "saw-account" in shown
    assert "saw-customers" in shown


def test_a_task_whose_rubric_was_derived_agrees_with_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("storefront/new-phone-number-twin/0000", "--tasks", str(TASK_FILE))
    code, shown, told = call(*arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0, told
    assert "100.00 % of" in shown
    assert "expert  " not in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("storefront/cancel-order/0000", "--family", "cancel-order"), "choose among many tasks; add --all"),
        (("storefront", "--all", "--tasks", "mine"), "write `palaestra rubrics derive mine --all`"),
        (
            ("storefront", "--all", "--family", "cancel-ordr"),
            "unknown family 'cancel-ordr'; did you mean 'cancel-order'",
        ),
        (("storefront/cancel-ordr/0000",), "unknown task 'storefront/cancel-ordr/0000'; did you mean"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_way_out(
    arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = call(*arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 1
    assert says in " ".join(told.split())
