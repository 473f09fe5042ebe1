"""A maze whose wrong turn leads out as well, only later."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream

JUNCTION, HALL = 0, 4
RIGHT, WRONG, STAY = 0, 1, 2
"""What can be done at the junction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Junction:
    """A maze.

    - State: the room: the junction (0), three rooms of a detour (1 to 3), the hall (4). All episodes begin at the
      junction, and may come back to it; a room is what an anchor is.
    - Actions: at the junction to the hall, into the detour, or to stay; in the detour on, or back to the junction; in
      the hall out, or into a pit.
    - Reward: 1 on the way out, whenever that is.
    - End: outside, in the pit, or after `limit` turns, which cuts the episode short.
    - Success: out by the shortest way, in two turns. Solved is every way out.
    - Seeds: none; the world has no chances.
    """

    limit: int = 8
    tasks: int = 1
    name: str = "junction"

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Toy`."""
        return (3, 2, 2, 2, 2)

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """See `Toy`."""
        del luck
        room, turns, out, done = JUNCTION, list[ToyTurn](), False, False
        while not done and len(turns) < self.limit:
            action = choose(room)
            done = room == HALL
            out = done and action == 0
            lost = (done and not out) or len(turns) + 1 == self.limit
            turns.append(
                ToyTurn(
                    states=(room,),
                    actions=(action,),
                    reward=float(out),
                    anchor=room,
                    good=action == 0,
                    hope=float(out or not lost),
                )
            )
            room = _next(room, action)
        return ToyEpisode(task=task, turns=tuple(turns), passed=out, success=out and len(turns) == 2, done=done)

    def best(self, state: int) -> int:
        """See `Toy`."""
        del state
        return 0


def _next(room: int, action: int) -> int:
    if room == JUNCTION:
        return {RIGHT: HALL, WRONG: 1, STAY: JUNCTION}[action]
    return room + 1 if action == 0 else JUNCTION
