"""A maze whose wrong turn also leads out, only later."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream

JUNCTION, HALL = 0, 4
RIGHT, WRONG, STAY = 0, 1, 2
"""The actions at the junction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Junction:
    """A maze.

    - State: the room: the junction (0), three rooms of a detour (1 to 3), the hall (4). All episodes begin at the
      junction, and may return to it. The anchor is the room.
    - Actions: at the junction, go to the hall, enter the detour or stay; in the detour, go on or return to the
      junction; in the hall, leave or enter a pit.
    - Reward: 1 for leaving, at any time.
    - End: after leaving, in the pit, or after `limit` turns, which truncates the episode.
    - Success: leaving by the shortest path, in two turns. The task is solved by any path out.
    - Seeds: none; the world is deterministic.
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
