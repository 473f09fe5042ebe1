"""The prompts of a model that writes a world. Their reference is generated from the code that reads documents."""

from collections.abc import Sequence
from functools import cache

from palaestra.proof.authoring.judgement import EXAMPLE, LeastSize, Stage
from palaestra.proof.authoring.reference import describe_bounds, describe_expressions, describe_keys
from palaestra.records import Message

EXTENDABLE = ("entities", "rules", "handbook", "actions", "requests", "incoming", "instances")
"""The keys that an extension may have."""
_QUOTED = 2_000
"""Characters of an answer without a document that are quoted to the model."""
_ADVICE = """\
- Conditions in `refusals` decide. Each must be false for about a third of the rows, and `plant` must make exactly its \
own refusal the first that applies, by the smallest change at the boundary (`to: rules.limit + 100`).
- `shows` names one row. It must be clear which one: a condition over rows needs a single row that makes it true.
- Whatever a condition reads must be readable by tools: `get` for a row, `list FIELD` for the rows that name a row, \
`search` with `filters` for a whole table. Every tool must be needed by some request.
- A list that a condition goes through has at least one row: `per: {field: [1, 3]}`.
- Every section of the handbook decides some request, every rule stands in a section and decides some request, and \
every action is used by some request. Values in `instead` lie on both sides of the rule's own.
- Amounts are whole cents, worked out with +, -, * and share(amount, percent) from values that tools show.
- Each text in `says` names the row as `{entity.id}`, unless the request has a `question`.
- Entities stand after those that they refer to. Names are lower case with underscores, requests and the world's id \
lower case with hyphens, prefixes capitals with a hyphen.
- Sentences are plain and correct, and the rules are such as the trade has."""
_STAGES: dict[Stage, str] = {
    "answer": "There is no document that can be read",
    "document": "The document cannot be read",
    "rules": "The document breaks rules",
    "texts": "Texts of the document are not plain",
    "content": "The document has too little of its own",
    "tasks": "Tasks of these requests cannot be made",
    "proof": "The proof of the tasks failed",
    "idle": "The tasks are proved, and parts of the world decide nothing",
    "limits": "The world is too large to be proved",
}


@cache
def system_prompt() -> str:
    """The task, the keys, the language and the bounds."""
    return (
        "You write worlds for office agents: a desk with records, tools, a handbook with rules, and requests that are "
        "granted or refused by the rules. A world is one YAML document, a blueprint. A program checks it, makes tasks "
        "of it and proves them; what it finds wrong, you correct. Answer with the document alone.\n\n"
        f"# Keys\n\n{describe_keys()}\n\n# Expressions\n\n{describe_expressions()}\n\n"
        f"# Bounds\n\n{describe_bounds()}\n\n# Advice\n\n{_ADVICE}\n\n"
        f"# An example of another trade\n\n```yaml\n{EXAMPLE.read_text(encoding='utf-8')}```"
    )


def ask_for_world(about: str, least: LeastSize) -> list[Message]:
    """The messages that ask for a whole document."""
    wanted = (
        f"Write the blueprint of this world: {about!r}. Give it at least {least.entities} entities, {least.requests} "
        f"requests and {least.refusals} refusals. Do not reuse the rules of the example."
    )
    return [{"role": "system", "content": system_prompt()}, {"role": "user", "content": wanted}]


def ask_for_extension(about: str, document: str) -> list[Message]:
    """The messages that ask for more parts of a proved document."""
    wanted = (
        f"This blueprint is proved. It is about {about!r}.\n\n```yaml\n{document}```\n\nExtend it by at least one "
        "request with rules of its own, and by the records that it needs. Answer with a document that has only the "
        f"parts that you add or change, under the keys {', '.join(EXTENDABLE)}. Parts are merged by their names."
    )
    return [{"role": "system", "content": system_prompt()}, {"role": "user", "content": wanted}]


def ask_for_repair(written: str, stage: Stage, findings: Sequence[str], *, whole: bool) -> list[Message]:
    """The messages that ask for a repair: what the model wrote, and what is wrong with it.

    Args:
        written: The model's document, or its answer if that has no document.
        stage: The stage that it failed.
        findings: The findings.
        whole: Whether it is a whole document rather than an extension.
    """
    again = "the whole document" if whole else "the whole extension"
    lines = "\n".join(f"- {finding}" for finding in findings)
    wanted = f"{_STAGES[stage]}:\n{lines}\n\nCorrect this, keep what is right, and write {again} again."
    shown = written if stage != "answer" else written[:_QUOTED]
    return [{"role": "assistant", "content": shown}, {"role": "user", "content": wanted}]
