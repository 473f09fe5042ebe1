"""A key and a door: two subgoals, each of which needs two turns without a switch."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream

KEEP, SWITCH = 0, 1
"""The values of a switch token."""
NO_GOAL, KEY, DOOR = 0, 1, 2
"""Subgoals; the token of a subgoal is its number minus 1."""
PICK, OPEN = 0, 1
"""The values of an action token."""
_EMPTY, _HALF_PICKED, _HELD, _HALF_OPEN, _OPENED = range(5)
_WORLDS, _GOALS = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A key and a door, for a policy that names its subgoals.

    - State: the world (the key is on the floor, half picked or held, or the door is half open) and the subgoal (none,
      key or door). A switch token and an action token depend on both, a subgoal token on the world. The first turn has
      no subgoal.
    - Actions: a turn is a switch token (keep or switch), a subgoal token if it switches, and an action token: pick or
      open.
    - Effects: pick works under the subgoal `key`, open under `door` with the key held. Each must be done twice, in
      turns that keep the subgoal. A switch undoes what was half done.
    - Reward: `pays` when the door opens.
    - End: when the door opens, or after `limit` turns, which truncates the episode. Four turns are enough.
    - Success: the door opened.
    - Seeds: none; the world is deterministic.
    """

    limit: int = 8
    pays: float = 1.0
    tasks: int = 1
    name: str = "planning"

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Toy`."""
        return (2,) * (2 * _WORLDS * _GOALS + _WORLDS)

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """See `Toy`."""
        del luck
        world, goal, turns = _EMPTY, NO_GOAL, list[ToyTurn]()
        while world != _OPENED and len(turns) < self.limit:
            anchor = switch_state(world, goal)
            states, parts = [anchor], ["switch"]
            actions = [choose(anchor)]
            if switched := actions[0] == SWITCH:
                world -= world % 2
                states.append(plan_state(world))
                parts.append("plan")
                actions.append(choose(states[-1]))
                goal = actions[-1] + 1
            states.append(action_state(world, goal))
            parts.append("action")
            actions.append(choose(states[-1]))
            good = all(action == self.best(state) for state, action in zip(states, actions, strict=True))
            world += (goal, actions[-1]) == ((KEY, PICK) if world < _HELD else (DOOR, OPEN))
            late = _OPENED - world > self.limit - len(turns) - 1
            turns.append(
                ToyTurn(
                    states=tuple(states),
                    actions=tuple(actions),
                    parts=tuple(parts),
                    reward=self.pays * (world == _OPENED),
                    anchor=anchor,
                    good=good,
                    hope=float(not late),
                    switch=switched,
                    goal=goal,
                )
            )
        opened = world == _OPENED
        return ToyEpisode(task=task, turns=tuple(turns), passed=opened, success=opened, done=opened, total=self.pays)

    def best(self, state: int) -> int:
        """See `Toy`."""
        seen = state % (_WORLDS * _GOALS + _WORLDS) if state >= _WORLDS * _GOALS + _WORLDS else state
        if _WORLDS * _GOALS <= state < _WORLDS * _GOALS + _WORLDS:
            return KEY - 1 if state - _WORLDS * _GOALS < _HELD else DOOR - 1
        world, goal = divmod(seen, _GOALS)
        wanted = KEY if world < _HELD else DOOR
        if state < _WORLDS * _GOALS:
            return KEEP if goal == wanted else SWITCH
        return PICK if wanted == KEY else OPEN


def switch_state(world: int, goal: int) -> int:
    """The state in which a switch token is sampled."""
    return world * _GOALS + goal


def plan_state(world: int) -> int:
    """The state in which a subgoal token is sampled."""
    return _WORLDS * _GOALS + world


def action_state(world: int, goal: int) -> int:
    """The state in which an action token is sampled."""
    return _WORLDS * (_GOALS + 1) + world * _GOALS + goal
