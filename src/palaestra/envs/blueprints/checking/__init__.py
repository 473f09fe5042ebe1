"""What is wrong with a blueprint: every problem at once, with place, rule and fix."""

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.checking.entities import check_entities, check_field_types
from palaestra.envs.blueprints.checking.findings import BlueprintFindings
from palaestra.envs.blueprints.checking.names import check_names
from palaestra.envs.blueprints.checking.requests import check_request
from palaestra.envs.blueprints.checking.texts import check_actions, check_handbook, check_population
from palaestra.envs.blueprints.problems import BlueprintProblem, Places
from palaestra.envs.blueprints.scopes import Scopes


def check_blueprint(blueprint: Blueprint, places: Places | None = None) -> list[BlueprintProblem]:
    """The problems of a blueprint, in the order of its parts; none where it compiles.

    Args:
        blueprint: The blueprint.
        places: Where its parts stand in a document; `None`: they are named by their paths.
    """
    findings = BlueprintFindings(places or Places(blueprint.id))
    check_names(blueprint, findings)
    findings.expect_name(blueprint.team, "team", blueprint.teams, ("team",))
    findings.expect(
        len(blueprint.teams) >= 2, ("teams",), "a desk needs another team to hand cases to; name two or more"
    )
    if not check_field_types(blueprint, findings):
        return findings.problems  # nothing can be read without types
    scopes = Scopes(blueprint)
    check_entities(blueprint, scopes.types, findings)
    check_population(blueprint, scopes, findings)
    check_handbook(blueprint, scopes, findings)
    actions = check_actions(blueprint, scopes, findings)
    if blueprint.people in blueprint.entities:
        for name, spec in blueprint.requests.items():
            check_request(name, spec, blueprint, scopes, actions, findings)
    return findings.problems


__all__ = ["check_blueprint"]
