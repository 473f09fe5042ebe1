"""Scripted attacks: ways to get points without doing the work. None may pass, nor exceed the points that it states."""

from collections.abc import Mapping

from palaestra.proof.attacks.attack import Attack, blind_attack, privileged_attack
from palaestra.proof.attacks.attempt import ATTEMPT
from palaestra.proof.attacks.context import AttackContext, PrivilegedAttackContext
from palaestra.proof.attacks.flood import FLOOD
from palaestra.proof.attacks.harm import HARM
from palaestra.proof.attacks.lie import LIE
from palaestra.proof.attacks.needs import NEEDS, Need
from palaestra.proof.attacks.overdo import OVERDO
from palaestra.proof.attacks.probe import PROBE
from palaestra.proof.attacks.quit import QUIT, SPAM
from palaestra.proof.attacks.refuse import REFUSE
from palaestra.proof.attacks.registered import world_attacks
from palaestra.proof.attacks.skip import SKIP
from palaestra.proof.attacks.talk import TALK
from palaestra.proof.attacks.template import TEMPLATE
from palaestra.proof.trial import AttackScript, Trial, TrialOutcome

MAX_CALLS = 64
"""The most calls that an attack makes in one episode."""

ATTACKS: Mapping[str, Attack] = {
    attack.name: attack
    for attack in (*TALK, *REFUSE, *FLOOD, *HARM, *PROBE, *SKIP, *OVERDO, *LIE, *ATTEMPT, *TEMPLATE, *SPAM, *QUIT)
}
"""Every attack that the proof runs, by name: the blind ones first."""

UNGUARDED: Mapping[str, Attack] = {}
"""Attacks that no rubric guards against yet, by name: `palaestra tasks attack` runs them and the proof does not."""

__all__ = [
    "ATTACKS",
    "MAX_CALLS",
    "NEEDS",
    "UNGUARDED",
    "Attack",
    "AttackContext",
    "Need",
    "PrivilegedAttackContext",
    "blind_attack",
    "privileged_attack",
    "run_attack",
    "world_attacks",
]


def run_attack(trial: Trial, attack: Attack) -> TrialOutcome | None:
    """Run an attack on a task; return `None` if it finds nothing to try.

    A blind attack has tried something only if it made a call of the kind that it needs.
    """
    context = PrivilegedAttackContext(trial, attack.name)
    if attack.privileged:
        return trial.drive(attack.play(context), most=MAX_CALLS)
    uses: set[Need] = set()
    outcome = trial.drive(_observe(attack.play(context), context, uses), most=MAX_CALLS)
    return outcome if attack.needs in uses else None


def _observe(script: AttackScript, context: AttackContext, uses: set[Need]) -> AttackScript:
    """The same script; adds the kinds of its calls to `uses`."""
    try:
        turn = next(script)
        while True:
            uses.update(use for call in turn for use in context.uses(call))
            turn = script.send((yield turn))
    except StopIteration:
        return
