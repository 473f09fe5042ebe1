"""Judges a document as a world: reading, rules, texts, tasks, proof, and parts without effect.

Each stage reports all its findings, and the first stage with findings is the last. This code writes the findings; they
only quote names of the document.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, cast

import gymnasium as gym

from palaestra import register_world
from palaestra.digest import digest_bytes
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Blueprint, check_blueprint, compile_blueprint, load_blueprint, read_blueprint
from palaestra.errors import BlueprintError, PalaestraError
from palaestra.proof.prove import prove
from palaestra.proof.report import proof_lines

Stage: TypeAlias = Literal[
    "answer", "document", "rules", "texts", "content", "tasks", "proof", "idle", "limits", "proved"
]
"""The stage that a draft fails; "proved" if none."""
MOST_FINDINGS, LONGEST_FINDING = 30, 400
"""Maximum findings of a judgement, and maximum characters of one."""
EXAMPLE = Path(__file__).with_name("example.yaml")
"""A small proved blueprint, which every author reads."""
_MARKS = re.compile(r"<\|[^|>]{0,40}\|>|</?(?:tool_call|tool_response|think|s)>|\[/?INST\]|<<SYS>>")
"""Marks with a special meaning in chat templates."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_PLACE = re.compile(r"^(?:/[^\s:]+|[^\s:]+\.py):\d+: ")
"""The place in the code that an error of a family names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The judgement of a draft."""

    stage: Stage
    findings: tuple[str, ...] = ()
    """What is wrong, one line each; empty if the draft is proved."""
    summary: str = ""
    """The verdict of the proof, if it was reached."""

    @property
    def proved(self) -> bool:
        """Whether the draft is a proved world."""
        return self.stage == "proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSize:
    """The minimum size that an author must reach."""

    entities: int = 3
    requests: int = 2
    refusals: int = 3
    """Refusals over all requests."""


def judge_document(path: Path, least: LeastSize | None = None) -> Judgement:
    """Judge the document in a file, up to its proof. Its world is registered in this process.

    Args:
        path: The document.
        least: The minimum size; `None` for any size.
    """
    early = judge_text(path.read_text(encoding="utf-8"), least)
    return early if early.findings else judge_tasks(path)


def judge_text(text: str, least: LeastSize | None = None) -> Judgement:
    """Judge a document without making its world: reading, rules, texts and how much is its own."""
    try:
        blueprint, places = read_blueprint(text, source="draft")
    except BlueprintError as error:
        return _make_judgement("document", str(error).split("\n"))
    if problems := check_blueprint(blueprint, places):
        return _make_judgement("rules", [str(problem) for problem in problems])
    if marked := list(_find_marks(blueprint)):
        return _make_judgement("texts", marked)
    return _make_judgement("content", [] if least is None else list(_find_lacks(blueprint, least)))


def _find_lacks(blueprint: Blueprint, least: LeastSize) -> Iterator[str]:
    """Parts that it has too few of, and refusals copied from the example."""
    conditions = _conditions(blueprint)
    counts = {
        "entities": len(blueprint.entities),
        "requests": len(blueprint.requests),
        "refusals": sum(len(request.refusals) for request in blueprint.requests.values()),
    }
    for name, count in counts.items():
        if count < getattr(least, name):
            yield f"{count} {name}, and {getattr(least, name)} were asked for; add some"
    if len(conditions & _example_conditions()) * 2 > len(conditions):
        yield "most of its refusals are those of the example; write rules of the trade that was asked for"


def _conditions(blueprint: Blueprint) -> frozenset[str]:
    return frozenset(one.when for request in blueprint.requests.values() for one in request.refusals)


@cache
def _example_conditions() -> frozenset[str]:
    return _conditions(load_blueprint(EXAMPLE)[0])


def _find_marks(blueprint: Blueprint) -> Iterator[str]:
    """Texts with marks that chat templates would interpret."""
    for path, text in _texts(asdict(blueprint)):
        if mark := _MARKS.search(text):
            yield f"{path}: {mark.group()!r} is a mark of chat templates; write plain text"
        if control := _CONTROL.search(text):
            yield f"{path}: the character {control.group()!r} is not shown; leave it out"


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text and name within plain data, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, part in cast("Mapping[str, object]", value).items():
            yield path, name
            yield from _texts(part, f"{path}.{name}" if path else name)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(cast("Sequence[object]", value)):
            yield from _texts(part, f"{path}.{number}")


def judge_tasks(path: Path) -> Judgement:
    """Judge the tasks of a valid document: all can be made and are proved, and no part is idle."""
    try:
        compile_blueprint(load_blueprint(path)[0])
    except BlueprintError as error:
        return _make_judgement("rules", str(error).split("\n"))
    env_id = f"palaestra/Draft{digest_bytes(str(path.resolve()).encode() + path.read_bytes())[:16]}-v0"
    env = cast("ToolEnv", gym.make(register_world(path, env_id=env_id)).unwrapped)
    try:
        return _judge_env(env)
    except (PalaestraError, ArithmeticError) as error:
        return _make_judgement("tasks", [f"{type(error).__name__}: {_PLACE.sub('', str(error))}"])


def _judge_env(env: ToolEnv) -> Judgement:
    if unmade := list(_find_unmade_tasks(env)):
        return _make_judgement("tasks", unmade)
    proof = prove(env, [task for split in env.task_set.splits for task in env.task_set.candidates(split)])
    summary = str(proof.verdict)
    if not all(fault.kind == "idle" for fault in proof.faults):
        return _make_judgement("proof", list(proof_lines(proof, shown=2))[1:], summary)
    return _make_judgement("idle", [str(fault) for fault in proof.faults], summary)


def _find_unmade_tasks(env: ToolEnv) -> Iterator[str]:
    """The reason for each request whose tasks cannot all be made."""
    reasons: dict[str, str] = {}
    for split in env.task_set.splits:
        for task in env.task_set.candidates(split):
            if task.split("/")[1].removesuffix("-twin") in reasons:
                continue
            try:
                env.task_set.instance(task)
            except (PalaestraError, ArithmeticError) as error:
                request = task.split("/")[1].removesuffix("-twin")
                said = _PLACE.sub("", str(error)).removeprefix(f"{task}: ")
                reasons.setdefault(request, f"requests.{request}: {task}: {said}")
    yield from reasons.values()


def _make_judgement(stage: Stage, findings: list[str], summary: str = "") -> Judgement:
    """A judgement of bounded size; the draft is proved if the last stage has no findings."""
    if not findings:
        return Judgement(stage="proved", summary=summary)
    shown = [_CONTROL.sub("?", line)[:LONGEST_FINDING] for line in findings[:MOST_FINDINGS]]
    if len(findings) > MOST_FINDINGS:
        shown.append(f"and {len(findings) - MOST_FINDINGS} more")
    return Judgement(stage=stage, findings=tuple(shown), summary=summary)
