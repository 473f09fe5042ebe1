"""Sections of recipes that hold one part, with the settings that it has no default of."""

from collections.abc import Mapping

from palaestra.trainers.objectives import PARTS


def sections(plug: str, name: str, settings: Mapping[str, object]) -> dict[str, object]:
    """A recipe's section that holds one part."""
    plural = {
        "transform": "transforms", "correction": "corrections", "mask": "masks", "regulariser": "regularisers",
        "reward": "rewards", "filter": "filters", "rate": "rates",
    }  # fmt: skip
    spec = {"part": name, **settings}
    return {plural[plug]: [spec]} if plug in plural else {plug: spec}


REQUIRED: Mapping[str, Mapping[str, object]] = {
    "reinforce-pp-kl": {"beta": 0.1},
    "kl": {"estimator": "k3", "coefficient": 0.1},
    "entropy": {"coefficient": 0.1},
    "kl-in-reward": {"beta": 0.1},
    "reject": {"level": "token", "high": 2.0, "low": 0.5},
    "opsm": {"delta": 0.5},
    "arm": {"alpha": 0.1},
    "oapl": {"beta1": 1.0, "beta2": 1.0},
    "flowrl": {"partition": "table"},
    "paced": {"partition": "table"},
    "sppo": {"beta": 0.1},
    "laconic": {"budget": 3},
    "soft-overlong": {"longest": 8, "cache": 4},
    "tool-bonus": {"most": 2},
    "flipped": {"share": 0.25},
    "harm-scale": {"factor": 2.0},
    "unit": {"size": 10.0},
    "rank": {"keep": 2},
    "prof": {"keep": 2},
}
"""Settings without a default."""


def of_fact(fact: str) -> dict[str, object]:
    """Sections that make a fact true."""
    if fact == "refill":
        return {"refill": 1, "filters": ["mixed"]}
    if "=" in fact:
        place, _, value = fact.partition("=")
        section, _, setting = place.partition(".")
        names = {"aggregation": "name", "schedule": "name"}
        return {section: {setting or names[section]: value}}
    plug, _, name = fact.partition("/")
    if name.endswith("*"):
        name = next(other for kind, other in PARTS if kind == plug and other.startswith(name[:-1]))
    return sections(plug, name, REQUIRED.get(name, {}))
