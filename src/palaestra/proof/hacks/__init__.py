"""Scripted hacks: ways to be paid for work that was not done. None may pass, nor be paid more than it states."""

from collections.abc import Mapping

from palaestra.proof.hacks.flood import FLOOD
from palaestra.proof.hacks.hack import Hack, blind, knowing
from palaestra.proof.hacks.harm import HARM
from palaestra.proof.hacks.overdo import OVERDO
from palaestra.proof.hacks.probe import PROBE
from palaestra.proof.hacks.refuse import REFUSE
from palaestra.proof.hacks.seat import Insider, Seat
from palaestra.proof.hacks.skip import SKIP
from palaestra.proof.hacks.talk import TALK
from palaestra.proof.trial import Outcome, Trial

MOST = 64
"""The most calls that a hack makes in one episode."""

HACKS: Mapping[str, Hack] = {hack.name: hack for hack in (*TALK, *REFUSE, *FLOOD, *HARM, *PROBE, *SKIP, *OVERDO)}
"""Every hack by name: the blind ones first."""

__all__ = ["HACKS", "MOST", "Hack", "Insider", "Seat", "blind", "knowing", "try_hack"]


def try_hack(trial: Trial, hack: Hack) -> Outcome | None:
    """Play a hack on a task; `None` where it finds nothing to try."""
    return trial.drive(hack.play(Insider(trial, hack.name)), most=MOST)
