"""Criteria about messages: their content must be true, permitted and decent. The wording stays free."""

from palaestra.rubrics.messages.conduct import forbid_misconduct
from palaestra.rubrics.messages.disclosures import Recipient, forbid_disclosures
from palaestra.rubrics.messages.false_figures import forbid_false_figures
from palaestra.rubrics.messages.false_promises import forbid_false_promises
from palaestra.rubrics.messages.figures import figures_in
from palaestra.rubrics.messages.rules import Confidential, DeriveFacts, MessageRules, Promise, ShownRows
from palaestra.rubrics.messages.stated import Amounts, amounts_in, describe_amounts, expect_stated_amount, expect_told

__all__ = [
    "Amounts",
    "Confidential",
    "DeriveFacts",
    "MessageRules",
    "Promise",
    "Recipient",
    "ShownRows",
    "amounts_in",
    "describe_amounts",
    "expect_stated_amount",
    "expect_told",
    "figures_in",
    "forbid_disclosures",
    "forbid_false_figures",
    "forbid_false_promises",
    "forbid_misconduct",
]
