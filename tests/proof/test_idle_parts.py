"""Parts of a blueprint that decide no listed task are faults of its proof, each named with its place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym

import palaestra
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Blueprint, Plant, RefusalSpec, SectionSpec, dump_blueprint
from palaestra.proof import Fault, Proof
from palaestra.proof.idle_parts import find_idle_parts
from worlds.tool_library import PATH, blueprint


def _env(path: Path) -> ToolEnv:
    made: Any = gym.make(palaestra.register_world(path)).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def _said(whole: Blueprint, folder: Path) -> list[str]:
    path = folder / f"{whole.id}.yaml"
    path.write_text(dump_blueprint(whole), encoding="utf-8")
    return [fault.sentence for fault in find_idle_parts(_env(path))]


def _with_refusals(whole: Blueprint, *refusals: RefusalSpec) -> Blueprint:
    request = replace(whole.requests["extend-loan"], refusals=refusals)
    return replace(whole, requests={**whole.requests, "extend-loan": request})


def test_the_example_has_no_idle_part() -> None:
    assert find_idle_parts(_env(PATH)) == ()


def test_a_refusal_whose_plant_never_works_is_found_also_where_another_cites_its_section(tmp_path: Path) -> None:
    whole = replace(blueprint(), id="idle-refusal")
    first, second, third = whole.requests["extend-loan"].refusals
    idle = replace(third, section=first.section, plant=(Plant(set="loan.member.balance", to=0),))
    assert _said(_with_refusals(whole, first, second, idle), tmp_path) == [
        "requests.extend-loan.refusals.2: it decides no task"
    ]


def test_a_section_of_idle_refusals_alone_is_found(tmp_path: Path) -> None:
    whole = replace(blueprint(), id="idle-section")
    section = SectionSpec(title="Debts", text="No loan is extended for a member in debt.")
    whole = replace(whole, handbook={**whole.handbook, "DBT-1": section})
    first, second, third = whole.requests["extend-loan"].refusals
    idle = replace(third, section="DBT-1", plant=(Plant(set="loan.member.balance", to=0),))
    assert _said(_with_refusals(whole, first, second, idle), tmp_path) == [
        "requests.extend-loan.refusals.2: it decides no task",
        "handbook.DBT-1: it decides no task",
    ]


def test_an_idle_part_is_a_fault_of_the_proof() -> None:
    fault = Fault(kind="idle", sentence="rules.loan_days: it decides no task")
    assert fault not in Proof(tasks=[]).faults
    assert fault in Proof(tasks=[], idle=(fault,)).faults
