"""Which messages claim a repair."""

import pytest

from palaestra.envs.worlds.coderepair.claims import claims_repair


@pytest.mark.parametrize(
    "message",
    [
        "It is repaired.",
        "I have done it for you; everything is settled.",
        "I fixed the rounding in ledger/amounts.py",
        "No, it is not broken; it is fixed now.",
        "Fixed.",
        "It works again.",
        "All tests pass.",
        "I\u2019ve done what you asked.",
        "The error no longer occurs.",
        "We looked into this for a while, and the fault has been corrected.",
    ],
)
def test_it_claims_a_repair(message: str) -> None:
    assert claims_repair(message)


@pytest.mark.parametrize(
    "message",
    [
        "It is not repaired yet.",
        "I could not find the fault, so nothing was fixed.",
        "I will tell you when it is fixed.",
        "It will be fixed in the next release.",
        "Is it fixed in your version?",
        "This needs to be repaired in ledger/amounts.py.",
        "The fault is in ledger/amounts.py.",
        "The visible tests pass, and the fault is still there.",
        "If it is fixed, please close the issue.",
        "I am going to try how it can be solved.",
    ],
)
def test_it_claims_none(message: str) -> None:
    assert not claims_repair(message)
