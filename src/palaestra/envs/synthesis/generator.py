"""Worlds by number: a domain, some of its mechanisms and the joints between them become one blueprint.

Equal numbers give equal blueprints, on every machine. No model takes part.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

from palaestra.envs.blueprints import Blueprint, RefusalSpec, RequestSpec
from palaestra.envs.blueprints.blueprint import EntitySpec, FieldSpec
from palaestra.envs.blueprints.tool_style import ToolStyle
from palaestra.envs.synthesis.domain import DomainLexicon, domains
from palaestra.envs.synthesis.part import MechanismPart, mechanisms
from palaestra.envs.synthesis.plan_deck import DealtPlan, MechanismSet, deal_plans
from palaestra.envs.synthesis.pruning import prune_blueprint
from palaestra.envs.synthesis.style_draw import draw_style
from palaestra.envs.task import Split
from palaestra.errors import BlueprintError
from palaestra.seeding import Stream

WorldSplit: TypeAlias = Literal["train", "dev", "heldout-domain", "heldout-mechanism"]
WORLD_SPLITS: tuple[WorldSplit, ...] = get_args(WorldSplit)
"""Splits of worlds: known mechanisms in a domain that no training world has, and a mechanism that none has."""
HELDOUT_MECHANISMS = frozenset({"logistics", "quality", "rostering"})
DEV_DOMAINS = frozenset({"ferry_line", "optician", "print_shop"})
HELDOUT_DOMAINS = frozenset({"airline_desk", "blood_bank", "campsite", "city_office", "harbour", "museum", "theatre"})
MECHANISMS = (2, 3)
"""The fewest and the most mechanisms of a world."""
REQUESTS = (6, 9)
"""The fewest and the most families of a world."""
REFUSALS = (1, 3)
"""The fewest and the most refusals of a request, besides blocks."""
BLOCKS = ((1, 2), (2, 1))
"""How many blocks a world has, each number with its weight. A block changes no request of its own mechanism."""
WORDINGS = 3
"""The most wordings of a request in one world."""
TRAIN_TASKS = 3
"""The fewest tasks of a family that the split "train" lists."""


_HELDOUT_SPLITS = frozenset({"heldout-domain", "heldout-mechanism"})
_TURNS: Mapping[int, WorldSplit] = {7: "dev", 8: "heldout-domain", 9: "heldout-mechanism"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPlan:
    """What a world is made of."""

    number: int
    split: WorldSplit
    domain: str
    mechanisms: tuple[str, ...]
    style: ToolStyle
    """How its tools are written."""


def world_id(number: int) -> str:
    """The id of the world of a number."""
    return f"synth-{number}"


def draw_plan(number: int) -> WorldPlan:
    """What the world of a number is made of, before it is made.

    Of ten numbers, one gives a world for development, one a world in a held-out domain, and one a world with a held-out
    mechanism. A split has no plan twice before it had each once; from then on, plans come again with other requests.

    Raises:
        BlueprintError: no domain has mechanisms for the split.
    """
    split = _TURNS.get(number % 10, "train")
    dealt = _dealt_plans(split)
    if not dealt:
        raise BlueprintError(f"world {number}: no domain has mechanisms for the split {split}; add one")
    place = number // 10 * (10 - len(_TURNS)) + number % 10 if split == "train" else number // 10
    plan = dealt[place % len(dealt)]
    stream = Stream.root("synthesis", number, "style")
    # Half of the held-out worlds have tools as in training, so that the two kinds of novelty can be told apart.
    style = draw_style(stream, heldout=split in _HELDOUT_SPLITS and stream.split("heldout").chance(50))
    return WorldPlan(number=number, split=split, domain=plan.domain, mechanisms=plan.mechanisms, style=style)


@cache
def _dealt_plans(split: WorldSplit) -> list[DealtPlan]:
    """The plans of a split, in the order of its numbers."""
    pool = {"dev": DEV_DOMAINS, "heldout-domain": HELDOUT_DOMAINS}.get(split)
    trained = domains().keys() - DEV_DOMAINS - HELDOUT_DOMAINS
    sets = {name: _sets(name, split) for name in sorted(trained if pool is None else pool & domains().keys())}
    return deal_plans(sets, Stream.root("synthesis", "plans", split))


def _sets(domain: str, split: WorldSplit) -> list[MechanismSet]:
    """The sets of mechanisms that a world of a domain can have; one is held out where the split says so."""
    known, new = _list_mechanisms(domain, heldout=False), _list_mechanisms(domain, heldout=True)
    sizes = range(MECHANISMS[0], MECHANISMS[1] + 1)
    if split != "heldout-mechanism":
        return [chosen for size in sizes for chosen in combinations(sorted(known), size)]
    return [
        tuple(sorted((*chosen, one)))
        for size in sizes
        for chosen in combinations(sorted(known), size - 1)
        for one in sorted(new)
    ]


def _list_mechanisms(domain: str, *, heldout: bool) -> list[str]:
    """The mechanisms that a domain has words for: those that are held out, or the others."""
    names = [name for name in domains()[domain].mechanisms if name in mechanisms()]
    return [name for name in names if (name in HELDOUT_MECHANISMS) is heldout]


def generate_blueprint(number: int) -> Blueprint:
    """The blueprint of a number.

    Raises:
        BlueprintError: the domain lacks words of a mechanism.
    """
    plan = draw_plan(number)
    joined = join_parts(number, domains()[plan.domain], plan.mechanisms, Stream.root("synthesis", number))
    return replace(joined, style=plan.style)


def join_parts(number: int, domain: DomainLexicon, chosen: Sequence[str], stream: Stream) -> Blueprint:
    """The blueprint of a domain with these mechanisms, in the plain style.

    Raises:
        BlueprintError: the domain lacks words of a mechanism, or two mechanisms share a name.
    """
    parts = {name: mechanisms()[name].in_words(domain.words(name), stream.split("part", name)) for name in chosen}
    requests = _add_blocks(parts, _choose_requests(parts, stream.split("requests")), stream.split("blocks"))
    case, case_prefix = (part.strip() for part in domain.case.split(","))
    whole = Blueprint(
        id=world_id(number),
        title=domain.title,
        agent=domain.agent,
        weekends=domain.weekends,
        people=_singular(domain.person),
        team=domain.team,
        teams=domain.teams,
        case=case,
        case_prefix=case_prefix,
        entities={**_people(domain, chosen, stream.split("people")), **_merge(parts, "entities")},
        rules=_merge(parts, "rules"),
        handbook=_merge(parts, "handbook"),
        actions=_merge(parts, "actions"),
        requests=requests,
        instances=_count_instances(requests.values()),
    )
    return prune_blueprint(whole)


def _count_instances(requests: Iterable[RequestSpec]) -> dict[Split, int]:
    """How many tasks of a family each split lists: together one for each refusal of a request at least."""
    refusals = max(len(spec.refusals) for spec in requests)
    return {"train": max(TRAIN_TASKS, refusals - 2), "dev": 1, "heldout": 1}


def _people(domain: DomainLexicon, chosen: Sequence[str], stream: Stream) -> dict[str, EntitySpec]:
    """The entities of those who ask and, where a mechanism needs them, of colleagues."""
    singular, plural, prefix = (part.strip() for part in domain.person.split(","))
    fields = {"name": FieldSpec(type="name"), "email": FieldSpec(type="email")}
    joined = {"joined": FieldSpec(type="date", days=(-4200, -2410))}
    found = {
        singular: EntitySpec(
            description="A person who turns to the desk.",
            plural=plural,
            prefix=prefix,
            fields={**fields, **joined},
            count=stream.between(20, 30),
            first=stream.choice((101, 1001, 2001, 5001)),
            tools=("get",),
        )
    }
    if any(mechanisms()[name].needs_staff for name in chosen):
        singular, plural, prefix = (part.strip() for part in domain.staff.split(","))
        found[singular] = EntitySpec(
            description="A colleague.",
            plural=plural,
            prefix=prefix,
            fields={
                "name": FieldSpec(type="name"),
                "mail": FieldSpec(type="email"),
                # The management decides beyond every limit and is no row: nobody of it has a limit or is passed over.
                "team": FieldSpec(type=f"choice {'|'.join(one for one in domain.teams if one != 'management')}"),
                "limit": FieldSpec(type="money", between=(20_000, 200_000), step=10_000),
                "away": FieldSpec(type="flag", percent=35),
            },
            count=12,
            first=101,
            tools=("get", "search"),
            filters=("team",),
            summary=("name", "limit", "away"),
        )
    return found


def _choose_requests(parts: Mapping[str, MechanismPart], stream: Stream) -> dict[str, tuple[str, RequestSpec]]:
    """By family: its mechanism, and the request with some of its refusals and wordings."""
    every = [(mechanism, name, spec) for mechanism, part in parts.items() for name, spec in part.requests.items()]
    count = min(len(every), stream.split("count").between(*REQUESTS))
    picked = set(stream.split("pick").sample(range(len(every)), count))
    whole = {name: (mechanism, spec) for place, (mechanism, name, spec) in enumerate(every) if place in picked}
    varied = {name: (mechanism, _vary(spec, stream.split(name))) for name, (mechanism, spec) in whole.items()}
    # A section that the handbook has holds for every request: none may be granted against it.
    stated = {one.section for _, spec in varied.values() for one in spec.refusals}
    return {
        name: (
            mechanism,
            replace(spec, refusals=tuple(one for one in whole[name][1].refusals if one.section in stated)),
        )
        for name, (mechanism, spec) in varied.items()
    }


def _vary(spec: RequestSpec, stream: Stream) -> RequestSpec:
    """Some of the refusals, in their order, and some of the wordings."""
    count = min(len(spec.refusals), stream.split("refusals").between(*REFUSALS))
    kept = set(stream.split("which").sample(range(len(spec.refusals)), count))
    # A section that says how a request is granted is read as a whole: what it refuses stays too.
    kept |= {place for place, one in enumerate(spec.refusals) if one.section in spec.sections}
    says = stream.split("says").sample(spec.says, min(WORDINGS, len(spec.says)))
    refusals = tuple(one for place, one in enumerate(spec.refusals) if place in kept)
    return replace(spec, refusals=refusals, says=tuple(says))


def _add_blocks(
    parts: Mapping[str, MechanismPart], requests: Mapping[str, tuple[str, RequestSpec]], stream: Stream
) -> dict[str, RequestSpec]:
    """The requests with some of the mechanisms' blocks, each on all requests of the others: its section says so."""
    blocks = stream.permutation([(mechanism, block) for mechanism, part in parts.items() for block in part.blocks])
    easy = {mechanism for mechanism, spec in requests.values() if spec.level == 1}
    blocks.sort(key=lambda one: one[0] not in easy)  # a block leaves the easy requests of its own mechanism easy
    kept = blocks[: stream.split("count").weighted_choice(BLOCKS)]
    found = {name: spec for name, (_, spec) in requests.items()}
    for mechanism, block in sorted(kept, key=lambda one: list(parts).index(one[0])):
        for name, (own, _) in requests.items():
            if own != mechanism:
                found[name] = _with_block(found[name], block)
    return found


def _with_block(spec: RequestSpec, block: RefusalSpec) -> RequestSpec:
    return replace(spec, refusals=(*spec.refusals, block), level=2 if spec.level == 1 else spec.level)


def _merge(parts: Mapping[str, MechanismPart], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mechanism, part in parts.items():
        for name, spec in getattr(part, kind).items():
            if name in found:
                raise BlueprintError(f"mechanism {mechanism}: {kind} {name!r} is another mechanism's; rename one")
            found[name] = spec
    return found


def _singular(text: str) -> str:
    return text.partition(",")[0].strip()
