"""What is wrong with a document as a world: reading, rules, texts, tasks, proof, and parts that decide nothing.

Each stage reports everything that it finds, and the first stage with findings is the last. The findings are texts of
this code, with the document's own names quoted in them.
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
"""Where a draft fails; "proved": nowhere."""
MOST_FINDINGS, LONGEST_FINDING = 30, 400
"""The most findings of a judgement, and the most characters of one."""
EXAMPLE = Path(__file__).with_name("example.yaml")
"""A small proved blueprint, which every author reads."""
_MARKS = re.compile(r"<\|[^|>]{0,40}\|>|</?(?:tool_call|tool_response|think|s)>|\[/?INST\]|<<SYS>>")
"""Words that chat templates give a meaning of their own."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_PLACE = re.compile(r"^(?:/[^\s:]+|[^\s:]+\.py):\d+: ")
"""The file of this package that an error of a family names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of a draft."""

    stage: Stage
    findings: tuple[str, ...] = ()
    """What is wrong, a line each; none where it is proved."""
    summary: str = ""
    """The verdict of the proof, where it was reached."""

    @property
    def proved(self) -> bool:
        """Whether it is a proved world."""
        return self.stage == "proved"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSize:
    """What an author is asked for at least."""

    entities: int = 3
    requests: int = 2
    refusals: int = 3
    """Over all requests."""


def judge_document(path: Path, least: LeastSize | None = None) -> Judgement:
    """Judge the document in a file, up to its proof. Its world is registered in this process.

    Args:
        path: The document.
        least: What it has at least; `None`: any size.
    """
    early = judge_text(path.read_text(encoding="utf-8"), least)
    return early if early.findings else judge_tasks(path)


def judge_text(text: str, least: LeastSize | None = None) -> Judgement:
    """Judge what can be judged without making its world: reading, rules, texts and how much it has of its own."""
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
    """What it has too little of, and whether its refusals are those of the example."""
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
    """Texts that would mean something else to who reads them than they say."""
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
    """Judge a document without problems by its tasks: that they can be made, are proved, and leave nothing idle."""
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
    """For each request whose tasks cannot all be made, why."""
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
    """A judgement of bounded size; proved where the last stage finds nothing."""
    if not findings:
        return Judgement(stage="proved", summary=summary)
    shown = [_CONTROL.sub("?", line)[:LONGEST_FINDING] for line in findings[:MOST_FINDINGS]]
    if len(findings) > MOST_FINDINGS:
        shown.append(f"and {len(findings) - MOST_FINDINGS} more")
    return Judgement(stage=stage, findings=tuple(shown), summary=summary)
