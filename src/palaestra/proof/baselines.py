"""The agents that measure a task rather than solve it, beside the one that shows it can be solved."""

from palaestra.agents import (
    AlwaysRefuse,
    JunkText,
    LegalRandom,
    ReadOnlyAgent,
    SchemaRandom,
    finish_at_once,
    no_op,
    oracle,
)
from palaestra.envs import ToolEnv
from palaestra.protocols import Agent

FLOORS = ("no-op", "finish-at-once", "always-refuse", "junk", "reader", "schema-random", "legal-random")
"""Agents that know nothing of the task."""
IDLE = FLOORS[:5]
"""Those of them that must never solve one; the random ones are measured, and may by luck."""
CEILING = 20
"""The highest mean score that any of them may have: what look-ups are worth where nothing is done."""


def roster(env: ToolEnv) -> dict[str, Agent]:
    """Every bundled agent by name, at work on `env`; the oracle first."""
    return {
        "oracle": oracle(env.oracle),
        "no-op": no_op(),
        "finish-at-once": finish_at_once(),
        "always-refuse": AlwaysRefuse(),
        "junk": JunkText(),
        "reader": ReadOnlyAgent(),
        "schema-random": SchemaRandom(env.action_space.sample, env.action_space.seed),
        "legal-random": LegalRandom(env.legal_actions),
    }
