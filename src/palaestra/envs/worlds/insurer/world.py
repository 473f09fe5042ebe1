"""The world `palaestra/Insurer-v0`: the claims department of a property and motor insurer.

State
    Nineteen tables, about 2,350 rows: policyholders, contracts, covers, premiums, claims, documents, invoices, lost
    things, payments, reserves, recoveries, other insurers, garages, surveyors, surveys, releases of repairs, adjusters,
    matters, handbook. A virtual clock.
Actions
    48 tools for the role "adjuster": search, read, calculate, pay, gather evidence, recover, talk, finish, give up.
Observations
    The policyholder's message under the department's briefing, then one JSON answer for each call. In tasks with the
    trait "dialogue" the policyholder answers what is said with `reply`.
Policy
    A handbook of 27 numbered sections. Tasks turn on it; most tools do not enforce it.
Seeds
    World seeds 1000-1007 (train), 2000-2001 (dev), 3000-3002 (heldout), 4000-4002 (heldout-policy: each task has a
    changed handbook that decides it), 2500-2502 (heldout-records).
"""

from datetime import datetime
from pathlib import Path

from palaestra.envs.kit import contents, format_moment
from palaestra.envs.surfaces import generated_surfaces
from palaestra.envs.world import World
from palaestra.envs.worlds.insurer.desk import InsurerDraft
from palaestra.envs.worlds.insurer.facts import derive_facts
from palaestra.envs.worlds.insurer.handbook import write_sections
from palaestra.envs.worlds.insurer.invariants import books_are_sound
from palaestra.envs.worlds.insurer.noise import NOISE
from palaestra.envs.worlds.insurer.population import ACTOR_ID, populate, world_start
from palaestra.envs.worlds.insurer.promises import PROMISES
from palaestra.envs.worlds.insurer.rules import RULES
from palaestra.envs.worlds.insurer.schema import SCHEMA
from palaestra.envs.worlds.insurer.tools import TOOLBOX

ROLE = "adjuster"
CONTENTS = contents(write_sections(RULES.own))

BRIEFING = """\
You are an adjuster ({actor}) in the claims department of Norderlei, an insurer of cars and homes. It is {now}. You \
work on one matter. {contact}

Look up the facts with your tools and decide by the department's handbook: its rules and limits bind you, whatever the \
policyholder asks for. Do what the matter calls for and nothing else. Then tell the policyholder with `reply`, which \
states any amount that is paid, demanded or reclaimed, close the matter (resolve, decline or escalate it), and call \
`finish`. Amounts in records are in euro cents.

Handbook: {contents}."""
NO_ANSWER = """\
The message below is all that the policyholder will say; they read what you send with `reply` but do not answer."""
ANSWERS = """\
The policyholder answers what you send with `reply`: ask them what the message below and the records leave open, \
before you act on it."""


def briefing(start: datetime) -> str:
    """The system message of an episode that begins at `start`."""
    return BRIEFING.format(actor=ACTOR_ID, contents=CONTENTS, now=format_moment(start), contact=NO_ANSWER)


def talking(start: datetime) -> str:
    """The system message of an episode in which the policyholder answers."""
    return BRIEFING.format(actor=ACTOR_ID, contents=CONTENTS, now=format_moment(start), contact=ANSWERS)


INSURER = World(
    name="insurer",
    schema=SCHEMA,
    populate=populate,
    start=world_start,
    toolbox=TOOLBOX,
    role=ROLE,
    actor=ACTOR_ID,
    briefing=briefing,
    talking=talking,
    rules=RULES,
    surfaces=generated_surfaces(SCHEMA, TOOLBOX, role=ROLE),
    draft=InsurerDraft,
    instances={"train": 6, "dev": 2, "heldout": 2, "heldout-policy": 2, "heldout-records": 2},
    twin_instances={"train": 3, "dev": 1, "heldout": 1, "heldout-policy": 1, "heldout-records": 1},
    families="palaestra.envs.worlds.insurer.tasks",
    invariants=(books_are_sound,),
    # A department has them, and no task turns on them: an agent may look around and correct itself.
    optional_tools=(
        "get_releases",
        "get_surveys",
        "reopen_matter",
        "search_handbook",
        "search_matters",
        "search_policyholders",
    ),
    guards={
        "money": frozenset({"payments", "premiums", "recoveries", "reserves", "releases", "invoices"}),
        "records": frozenset(
            {
                *("adjusters", "claims", "contracts", "covers", "documents", "garages", "handbook", "loss_items"),
                *("other_insurers", "policyholders", "surveyors", "surveys"),
            }
        ),
        "case": frozenset({"matters"}),
    },
    owners=frozenset({"policyholders"}),
    promises=PROMISES,
    derive_facts=derive_facts,
    tempers=True,
    noise=NOISE,
    injections="palaestra.envs.worlds.insurer.injections",
    release=Path(__file__).with_name("release.json"),
    decided=Path(__file__).with_name("decided.json"),
)
