"""The proof as tables, to read and to paste."""

from collections import Counter
from collections.abc import Iterator

from palaestra.proof.attacks import ATTACKS
from palaestra.proof.counts import CaseCounts
from palaestra.proof.demonstrations import shared_histories
from palaestra.proof.equivalence import RULES
from palaestra.proof.faults import has_ceiling
from palaestra.proof.proof import Proof
from palaestra.proof.rule_twins import tasks_by_section
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS
from palaestra.table import Table


def proof_tables(proof: Proof) -> list[Table]:
    """The proof's tables: the gate with one fact per line, agents, kinds of work, attacks, twins, families."""
    return [
        gate_table(proof),
        agents_table(proof),
        work_table(proof),
        attacks_table(proof),
        twins_table(proof),
        *([sections_table(proof)] if proof.rule_twins else []),
        families_table(proof),
    ]


def gate_table(proof: Proof) -> Table:
    """The gate's requirements and results, in a few lines."""
    tasks, criteria = len(proof.tasks), proof.working_criteria()
    wrong, right, attacks = proof.total("mutants"), proof.total("routes"), proof.total("attacks")
    pairs = proof.pairs
    held = sum(p.twin.holds for p in pairs if p.twin is not None)
    alternatives = proof.tally("routes", "alternative")
    equal = sum(proof.equivalents().values())
    lucky = sum(sum(p.lucky.values()) for p in proof.tasks)
    sequences = f"{proof.sequences_a_task():.1f}"
    applying = sum(proof.applying(name) > 0 for name in ATTACKS)
    kinds = sum(proof.tally("mutants", kind).of > 0 for kind in MUTANT_KINDS)
    rows = (
        ("tasks solved by their oracle", f"{proof.oracle().hits:,} of {tasks:,}", f"in {len(proof.families)} families"),
        (
            "criteria that are the first to fail for some mutant",
            f"{criteria.of:,}",
            f"{criteria.of / max(tasks, 1):.1f} a task, {criteria.percent:.1f} % forbid something",
        ),
        (
            f"mutants rejected, of the {kinds} of {len(MUTANT_KINDS)} kinds that apply",
            f"{wrong.hits:,} of {wrong.of:,}",
            f"{len(proof.survivors)} survivors; {equal:,} more are right work by a rule",
        ),
        (
            f"attacks rejected, of the {applying} of {len(ATTACKS)} that find something to try",
            f"{attacks.of - attacks.hits:,} of {attacks.of:,}",
            f"{sequences} distinct call sequences a task; {len(proof.attacked)} passed; {lucky} more did right work",
        ),
        (
            "right work done otherwise accepted",
            f"{right.hits:,} of {right.of:,}",
            f"{alternatives.of:,} of them the authors' alternatives",
        ),
        ("refusal twins that hold both ways", f"{held:,} of {len(pairs):,}", "the same request, byte for byte"),
        *_decidability_rows(proof),
        *_rules_row(proof),
    )
    return Table(
        title="The gate",
        columns=("what", "held", "and"),
        rows=rows,
        note="A task that fails any of this is in no split of a release.",
    )


def _decidability_rows(proof: Proof) -> Iterator[tuple[str, str, str]]:
    judged = [found for _, found in proof.decidabilities]
    sources, undecided = proof.value_sources(), Counter(u.kind for found in judged for u in found.undecided)
    values, pairs = sum(sources.values()), sum(found.choices for found in judged)
    shown = (
        f"{sources['request']:,} by the request, {sources['answer']:,} by answers, {sources['calculated']:,} calculated"
    )
    if sources["authored"] or undecided["wording"]:
        wordings = f"{undecided['wording']:,} of them without another wording that is right"
        shown += f"; {sources['authored']:,} thought out by the agent, {wordings}"
    by_request, undecided_lists = sum(found.by_request for found in judged), len(proof.undecided_values())
    yield (
        "values that demonstrations give, shown in an earlier turn",
        f"{values - undecided_lists - undecided['wording']:,} of {values + undecided['value']:,}",
        f"{shown}; {sources['open']:,} of a fixed list, constant in the family or told by wording and facts",
    )
    yield (
        "records chosen beside another one, told apart before",
        f"{pairs - undecided['choice']:,} of {pairs:,}",
        f"in {by_request:,} of these pairs the request names what tells them apart",
    )
    compared, conflicts = shared_histories(proof.demonstrations), len(proof.conflicts)
    yield (
        "calls that agree with an earlier demonstration after the same observations",
        f"{compared - conflicts:,} of {compared:,}",
        f"of {sum(len(found.decisions) for found in judged):,} calls of {len(judged):,} demonstrations",
    )


def _rules_row(proof: Proof) -> list[tuple[str, str, str]]:
    """The number of tasks that their handbooks decide; no row if none has to be."""
    twins = proof.rule_twins
    if not twins:
        return []
    decided = [t for t in twins if t.holds]
    handbooks, sections = len({t.handbook for t in decided}), len(tasks_by_section(decided))
    held = f"{len(decided):,} of {len(twins):,}"
    return [("tasks that a changed rule decides", held, f"{handbooks} handbooks, {sections} sections that decide")]


def agents_table(proof: Proof) -> Table:
    """The scores of the oracle and the floors."""
    tallies = {"oracle": proof.oracle(), **{name: proof.tally("floors", name) for name in proof.floors}}
    return Table(
        title="Agents that know everything, and nothing",
        columns=("agent", "tasks", "call-sequences", "solved", "mean score"),
        rows=tuple(
            (
                name,
                str(t.of),
                "-" if name == "oracle" else str(proof.floor_sequences(name)),
                f"{t.percent:.1f} %" if t.of else "-",
                f"{t.mean_points:.1f}",
            )
            for name, t in tallies.items()
        ),
        note="Score: points of 100, less what harm takes. Random agents may solve a task by luck; the others must not.",
    )


def work_table(proof: Proof) -> Table:
    """Wrong work rejected and right work accepted, by kind."""
    wrong = [
        _work_row("wrong", what, proof.tally("mutants", kind), "rejected", sum(proof.equivalents(kind).values()))
        for kind, what in MUTANT_KINDS.items()
    ]
    right = [_work_row("right", what, proof.tally("routes", kind), "accepted", 0) for kind, what in ROUTE_KINDS.items()]
    equal = "; ".join(f"{count:,} by {rule!r} ({RULES[rule]})" for rule, count in proof.equivalents().items())
    return Table(
        title="Wrong work is rejected, right work done otherwise is accepted",
        columns=("work", "what differs from the oracle's", "variants", "judged right", "share", "equivalent"),
        rows=(*wrong, *right),
        note=f"{len(proof.survivors)} survivors, {len(proof.false_rejects)} false rejects, "
        f"{len(proof.idle_criteria())} criteria that are the first to fail for no mutant. Equivalent mutants are right "
        f"work by a rule that a program decides, and not among the variants: {equal}.",
    )


def _work_row(side: str, what: str, tally: CaseCounts, verb: str, equal: int) -> tuple[str, ...]:
    share = f"{tally.percent:.2f} %" if tally.of else "-"
    return side, what, str(tally.of), f"{tally.hits} {verb}", share, str(equal) if equal else "-"


def attacks_table(proof: Proof) -> Table:
    """What each attack tries, and its score."""
    rows: list[tuple[str, ...]] = []
    for name, attack in ATTACKS.items():
        tally = proof.tally("attacks", name)
        lucky = sum(p.lucky[name] for p in proof.tasks)
        rows.append(
            (
                name,
                "privileged" if attack.privileged else "blind",
                attack.tries,
                f"{proof.applying(name)} of {len(proof.tasks)}",
                str(proof.attack_sequences(name)),
                str(tally.hits),
                str(lucky) if lucky else "-",
                f"{tally.mean_points:.1f}" if tally.of else "-",
                str(attack.ceiling) if has_ceiling(proof, attack) else "-",
            )
        )
    return Table(
        title="Attacks do not pass",
        columns=(
            "attack",
            "knows",
            "what it tries",
            "tried in tasks",
            "call-sequences",
            "passed",
            "right",
            "mean-score",
            "ceiling",
        ),
        rows=tuple(rows),
        note="A blind attack knows only its tools and what it is told; a privileged one is handed the solution. Tried: "
        "it found something to try. Call sequences: distinct ones, over all tasks. "
        "Right: it came to do right work, as a program decides."
        + (" No ceiling: it is a mean over all families of a split, and some were not proved." * bool(proof.missing)),
    )


def twins_table(proof: Proof) -> Table:
    """Refusal twins by family, compared with their siblings in both directions."""
    rows: list[tuple[str, ...]] = []
    pairs = [p for p in proof.pairs if p.twin is not None]
    for family in sorted({p.spec.family for p in pairs}):
        twins = [p.twin for p in pairs if p.spec.family == family and p.twin is not None]
        rows.append(
            (
                family.partition("/")[2],
                str(len(twins)),
                str(sum(t.same_request for t in twins)),
                str(sum(t.sibling_rejected for t in twins)),
                str(sum(t.twin_rejected for t in twins)),
            )
        )
    excused = "".join(f" {family} has none: {reason}" for family, reason in proof.without_twins().items())
    refusing = len({p.spec.family for p in proof.tasks if "refusal" in p.spec.traits and p.twin is None})
    return Table(
        title="Refusal twins",
        columns=("family", "pairs", "same-request", "granting it rejected", "refusing the sibling rejected"),
        rows=tuple(rows),
        note=f"The same request in a world where it must be refused. {refusing} families more turn on a refusal "
        f"themselves and need no twin.{excused}",
    )


def sections_table(proof: Proof) -> Table:
    """The number of tasks that each section of the handbook decides."""
    counts = tasks_by_section(t for t in proof.rule_twins if t.holds)
    return Table(
        title="Sections of the handbook that decide tasks",
        columns=("section", "tasks"),
        rows=tuple((section, str(counts[section])) for section in sorted(counts)),
        note="A section decides a task if one of its changed rules does: with that rule as in the default handbook, "
        "and all else unchanged, another answer is right.",
    )


def families_table(proof: Proof) -> Table:
    """The results of each family."""
    first, rows = proof.first_to_fail(), list[tuple[str, ...]]()
    for family in proof.families:
        tasks = list(proof.of(family))
        spec, working = tasks[0].spec, [c for c in tasks[0].criteria if c in first[family]]
        rows.append(
            (
                family.partition("/")[2],
                str(spec.level),
                str(len(tasks)),
                str(spec.oracle_calls),
                str(len(working)),
                str(sum(c in tasks[0].forbidding for c in working)),
                f"{proof.oracle(family).percent:.0f} %",
                _share(proof.total("mutants", family)),
                _share(proof.total("routes", family)),
            )
        )
    return Table(
        title="Families",
        columns=(
            "family",
            "level",
            "tasks",
            "calls",
            "criteria",
            "forbidding",
            "oracle",
            "wrong rejected",
            "right accepted",
        ),
        rows=tuple(rows),
        note="Calls and criteria are those of a family's first task; criteria count if some mutant fails them first.",
    )


def _share(tally: CaseCounts) -> str:
    return f"{tally.hits} / {tally.of}"
