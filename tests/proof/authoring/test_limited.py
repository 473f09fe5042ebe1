"""The proof of a draft takes bounded time and memory, and a crash of the judge is no fault of the draft."""

from pathlib import Path

import pytest

from palaestra.errors import InfrastructureError
from palaestra.proof.authoring import ProofLimits, judge_within_limits
from proof.authoring.authors import LIBRARY, broken

# Nearly as many steps as an expression may have, for each row that a request can be about.
SLOW = broken(
    ("count: 24", "count: 60"),
    ('loan.status == "active"\n    subject: ["My loan"',
     'all(all(c.due > a.started for c in loans) for a in loans)\n    subject: ["My loan"'),
)  # fmt: skip


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return tmp_path / "draft-00.yaml"


def test_a_world_is_judged_in_another_process_as_here(draft: Path) -> None:
    draft.write_text(LIBRARY)
    found = judge_within_limits(draft)
    assert found.proved, found.findings
    assert found.summary.startswith("Proved: 12 tasks in 4 families.")


def test_conditions_that_take_too_long_are_a_finding(draft: Path) -> None:
    draft.write_text(SLOW)
    found = judge_within_limits(draft, None, ProofLimits(seconds=4))
    assert found.stage == "limits"
    assert found.findings[0].startswith("the proof took more than 4 s of processor time; let there be fewer rows")


def test_a_judge_that_crashes_blames_no_draft(tmp_path: Path) -> None:
    draft = tmp_path / "draft.txt"  # no world is registered from such a file
    draft.write_text(LIBRARY)
    with pytest.raises(InfrastructureError, match=r"crashed: PackError.*; report it with the draft, which is kept"):
        judge_within_limits(draft)
