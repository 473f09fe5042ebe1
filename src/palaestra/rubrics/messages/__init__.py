"""Criteria about messages: what is said must be true, may be said, and is said decently. The wording stays free."""

from palaestra.rubrics.messages.claims import forbid_false_figures, forbid_false_promises
from palaestra.rubrics.messages.conduct import forbid_misconduct
from palaestra.rubrics.messages.disclosures import Recipient, forbid_disclosures
from palaestra.rubrics.messages.rules import Confidential, MessageRules, Promise
from palaestra.rubrics.messages.stated import Amounts, amounts_in, describe_amounts, expect_stated_amount

__all__ = [
    "Amounts",
    "Confidential",
    "MessageRules",
    "Promise",
    "Recipient",
    "amounts_in",
    "describe_amounts",
    "expect_stated_amount",
    "forbid_disclosures",
    "forbid_false_figures",
    "forbid_false_promises",
    "forbid_misconduct",
]
