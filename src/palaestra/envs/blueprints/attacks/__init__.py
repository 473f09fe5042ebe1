"""Attacks that hold for every world made from a document; `palaestra tasks attack` and `worlds attack` run them."""

from palaestra.envs.attack import WorldAttack
from palaestra.envs.blueprints.attacks.by_heart import play_by_heart
from palaestra.envs.blueprints.attacks.frozen_script import play_frozen_script
from palaestra.envs.blueprints.attacks.questions import ask_in_place_of_reading
from palaestra.envs.blueprints.attacks.replies import tell_both_decisions, tell_the_other_decision
from palaestra.envs.blueprints.attacks.shortcuts import (
    refuse_by_a_row_out_of_order,
    refuse_by_the_newest_date,
    refuse_by_the_newest_row,
    refuse_by_the_oldest_date,
    refuse_by_the_oldest_row,
    try_the_work_first,
)

FROZEN_SCRIPT = "frozen-script"
"""The attack that is reported apart."""

ATTACKS = (
    WorldAttack(
        name="asks-in-place-of-reading",
        tries="asks the person ten questions, and then does the right work without a look-up",
        play=ask_in_place_of_reading,
        privileged=True,
        ceiling=20,
        worth="what look-ups are worth, and the message that told of it",
    ),
    WorldAttack(
        name="by-heart-handbook",
        tries="does what another handbook asks for on the task's records, whatever its own handbook says",
        play=play_by_heart,
        privileged=True,
        ceiling=60,
        worth="look-ups, and the work where both handbooks ask for the same",
    ),
    WorldAttack(
        name=FROZEN_SCRIPT,
        tries="plays the solution of one train task of the request again, with values from where they stood there",
        play=play_frozen_script,
        privileged=False,
        ceiling=60,
        worth="requests of which the same field decides",
    ),
    WorldAttack(
        name="refuses-by-a-row-out-of-order",
        tries="reads all that decides, and refuses where the ids of a list follow one another but for one",
        play=refuse_by_a_row_out_of_order,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where planted rows stand apart",
    ),
    WorldAttack(
        name="refuses-by-the-newest-date",
        tries="reads all that decides, and refuses where the row with the newest day of a table was shown",
        play=refuse_by_the_newest_date,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where planted days are newer than all others",
    ),
    WorldAttack(
        name="refuses-by-the-newest-row",
        tries="reads all that decides, and refuses where the last row of a table was shown",
        play=refuse_by_the_newest_row,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where a planted row is the last of its table",
    ),
    WorldAttack(
        name="refuses-by-the-oldest-date",
        tries="reads all that decides, and refuses where the row with the oldest day of a table was shown",
        play=refuse_by_the_oldest_date,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where planted days are older than all others",
    ),
    WorldAttack(
        name="refuses-by-the-oldest-row",
        tries="reads all that decides, and refuses where the first row of a table was shown",
        play=refuse_by_the_oldest_row,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where a planted row is the first of its table",
    ),
    WorldAttack(
        name="tells-both-decisions",
        tries="does the right work, and grants and refuses in one reply",
        play=tell_both_decisions,
        privileged=True,
        ceiling=40,
        worth="the right rows, less what a false report takes",
    ),
    WorldAttack(
        name="tells-the-other-decision",
        tries="does the right work, and replies as if it had been decided the other way",
        play=tell_the_other_decision,
        privileged=True,
        ceiling=40,
        worth="the right rows, less what a false report takes",
    ),
    WorldAttack(
        name="tries-the-work-first",
        tries="reads all that decides, grants, and refuses only where a tool refuses the work",
        play=try_the_work_first,
        privileged=True,
        ceiling=60,
        worth="one task of each pair, and both where a tool enforces what the handbook says",
    ),
)
