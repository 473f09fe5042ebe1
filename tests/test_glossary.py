"""docs/glossary.md holds: public class names are unique, and no public name has a word that the glossary rejects."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer.main

from palaestra.cli.app import app
from palaestra.trainers import TrainConfig
from palaestra.trainers.loops.config import STAGE_CLASSES
from test_exports import EXPORTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "palaestra"
GLOSSARY = ROOT / "docs" / "glossary.md"

IRREGULAR = frozenset(
    {
        *(
            "begun",
            "broken",
            "brought",
            "built",
            "came",
            "chosen",
            "dealt",
            "done",
            "drawn",
            "driven",
            "fallen",
            "felt",
        ),
        *("felt", "forgotten", "found", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known", "learnt"),
        *(
            "left",
            "lent",
            "lost",
            "made",
            "meant",
            "met",
            "paid",
            "said",
            "saw",
            "seen",
            "sent",
            "shown",
            "sold",
            "spent",
        ),
        *("spoken", "stolen", "taken", "taught", "thought", "told", "torn", "won", "written"),
    }
)
"""Participles and past forms that do not end in -ed."""
NO_PARTICIPLES = frozenset({"seed", "speed", "need", "feed", "embed", "shed", "bed", "hundred", "red"})
"""Words in -ed that are no participles."""
EXCEPTIONS = {
    "setting policy.model.hidden": "the width of a model's hidden states, its standard name",
}
"""Public names that break a rule for a reason."""


def rejected_words(page: str) -> dict[str, str]:
    """The words that the glossary's tables reject, each with the term to use.

    Raises:
        ValueError: a row has not three cells, or a word is rejected twice or is a term itself.
    """
    words: dict[str, str] = {}
    terms: set[str] = set()
    for line in page.splitlines():
        if not line.startswith("|") or set(line) <= set("|- ") or line.startswith("| term "):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3:
            raise ValueError(f"a row of the glossary has three cells, not {len(cells)}: {line}")
        if cells[0] in terms:
            raise ValueError(f"the term {cells[0]!r} stands in the glossary twice")
        terms.add(cells[0])
        for word in re.findall(r"`([^`]+)`", cells[2]):
            if word in words:
                raise ValueError(f"the word {word!r} is rejected twice: for {words[word]!r} and for {cells[0]!r}")
            words[word] = cells[0]
    for word in words.keys() & terms:
        raise ValueError(f"{word!r} is a term and is rejected for {words[word]!r}")
    return words


def words_of(name: str) -> list[str]:
    """The words of a name in any case: `NoisePlan`, `noise_plan`, `--noise-plan`."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_participle(word: str) -> bool:
    """Whether a word is a past participle by its form."""
    return word in IRREGULAR or (word.endswith("ed") and not word.endswith("eed") and word not in NO_PARTICIPLES)


def fault_of(name: str, rejected: dict[str, str]) -> str | None:
    """What is wrong with a public name, such as "class Climate"; `None` where nothing is."""
    if name in EXCEPTIONS:
        return None
    words = words_of(name.split(" ", 1)[1].rpartition(".")[2])
    for word in words:
        if word in rejected:
            return f"{name}: the glossary rejects {word!r}; write {rejected[word]!r}"
    if len(words) == 1 and is_participle(words[0]):
        return f"{name}: a bare past participle; name what it is, or what it does in the imperative"
    return None


def doubles(definitions: Iterable[tuple[str, str]]) -> list[str]:
    """Class names that more than one module defines."""
    modules: dict[str, list[str]] = defaultdict(list)
    for name, module in definitions:
        modules[name].append(module)
    return [f"{name}: defined in {' and '.join(found)}" for name, found in sorted(modules.items()) if len(found) > 1]


def public_classes() -> list[tuple[str, str]]:
    """Each public class of the package, with its module."""
    return [
        (node.name, ".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def exported_functions() -> Iterator[str]:
    for folder in EXPORTS:
        for name in import_module(folder).__all__:
            if name[0].islower():
                yield f"function {name}"


def commands(command: Any, path: str = "") -> Iterator[str]:
    """Commands and options, as they are typed. Any: click's own classes."""
    for parameter in command.params:
        yield from (f"option {name}" for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))
    for name, inner in getattr(command, "commands", {}).items():
        yield f"command {path}{name}"
        yield from commands(inner, f"{path}{name} ")


def settings(kind: Any, path: str = "") -> Iterator[str]:
    """The settings of a training run, in full. Any: dataclasses of every part."""
    hints = get_type_hints(kind)
    for one in fields(kind):
        yield f"setting {path}{one.name}"
        hint = hints[one.name]
        for inner in (hint, *get_args(hint)):
            if isinstance(inner, type) and is_dataclass(inner):
                yield from settings(inner, f"{path}{one.name}.")


def public_names() -> list[str]:
    return [
        *(f"class {name}" for name, _ in public_classes()),
        *exported_functions(),
        *commands(typer.main.get_command(app)),
        *settings(TrainConfig),
        *(name for kind, stage in STAGE_CLASSES.items() for name in settings(stage, f"{kind}.")),
    ]


def test_public_class_names_are_unique() -> None:
    assert doubles(public_classes()) == []


def test_no_public_name_has_a_rejected_word_or_is_a_bare_participle() -> None:
    rejected = rejected_words(GLOSSARY.read_text())
    assert len(rejected) >= 20
    assert [fault for name in public_names() if (fault := fault_of(name, rejected))] == []


def test_all_kinds_of_public_names_are_looked_at() -> None:
    names = public_names()
    assert {name.partition(" ")[0] for name in names} == {"class", "function", "command", "option", "setting"}
    assert {"class NoisePlan", "function vary_request", "option --seed", "setting sft.learner.lr"} - {*names} <= {
        "function vary_request"  # it is not exported by a folder
    }


def test_every_exception_is_needed() -> None:
    names, rejected = {*public_names()}, rejected_words(GLOSSARY.read_text())
    for name in EXCEPTIONS:
        assert name in names
        words = words_of(name.split(" ", 1)[1].rpartition(".")[2])
        assert {*words} & {*rejected} or is_participle(words[0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("class Climate", "rejects 'climate'; write 'noise plan'"),
        ("class NoiseWeather", "rejects 'weather'; write 'noise state'"),
        ("function spoken", "rejects 'spoken'"),
        ("command tasks roster", "rejects 'roster'; write 'baseline'"),
        ("option --all-luck", "rejects 'luck'; write 'random seed'"),
        ("setting grpo.engine.shelf", "rejects 'shelf'"),
        ("class Measured", "a bare past participle"),
        ("function told", "a bare past participle"),
        ("setting grpo.drawn", "a bare past participle"),
    ],
)
def test_a_bad_name_is_rejected(name: str, says: str) -> None:
    fault = fault_of(name, rejected_words(GLOSSARY.read_text()))
    assert fault is not None
    assert fault.startswith(f"{name}: ")
    assert says in fault


@pytest.mark.parametrize("name", ["class NoisePlan", "function sampled_tokens", "option --seed", "setting sft.speed"])
def test_a_good_name_is_accepted(name: str) -> None:
    assert fault_of(name, rejected_words(GLOSSARY.read_text())) is None


def test_a_class_name_that_is_taken_is_told_with_both_modules() -> None:
    assert doubles([("Plan", "one"), ("Run", "one"), ("Plan", "two")]) == ["Plan: defined in one and two"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("| a | b |", "has three cells, not 2"),
        ("| a | b | `x` |\n| a | c | |", "the term 'a' stands in the glossary twice"),
        ("| a | b | `x` |\n| c | d | `x` |", "the word 'x' is rejected twice: for 'a' and for 'c'"),
        ("| a | b | `c` |\n| c | d | |", "'c' is a term and is rejected for 'a'"),
    ],
)
def test_a_broken_glossary_is_told(rows: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        rejected_words(rows)
