"""What an agent in a grid sees, in words. It reads the package's own encoding of the view and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

_DOORS = ("open", "closed", "locked")
_NO_THING = ("unseen", "empty", "wall", "floor")


class View:
    """Tells an encoded view.

    Args:
        kinds: The package's names of kinds, by number.
        colours: Its names of colours.
    """

    def __init__(self, kinds: Mapping[int, str], colours: Mapping[int, str]) -> None:
        self._kinds, self._colours = kinds, colours

    def describe(self, image: Any) -> str:
        """The view, relative to the agent, who stands at its bottom in the middle and looks up. Any: an array."""
        width, depth, _ = image.shape
        middle, last = width // 2, depth - 1
        things = [
            f"{self._name(image[x, y])} {_where(x - middle, last - y)}"
            for y in reversed(range(depth))
            for x in range(width)
            if (x, y) != (middle, last) and self._kind(image[x, y]) not in _NO_THING
        ]
        walls = [f"{side} {steps} away" for side, steps in self._walls(image)]
        held = image[middle, last]
        carried = "nothing" if self._kind(held) in _NO_THING else self._name(held)
        return "\n".join(
            [
                f"You see: {'; '.join(things) or 'nothing'}.",
                f"Walls: {', '.join(walls) or 'none in sight'}.",
                f"In front of you: {self._ahead(image[middle, last - 1])}. You carry {carried}.",
            ]
        )

    def _kind(self, cell: Any) -> str:
        return self._kinds[int(cell[0])]

    def _name(self, cell: Any) -> str:
        kind, colour = self._kind(cell), self._colours[int(cell[1])]
        return f"a {_DOORS[int(cell[2])]} {colour} door" if kind == "door" else f"a {colour} {kind}"

    def _ahead(self, cell: Any) -> str:
        kind = self._kind(cell)
        if kind in ("empty", "floor"):
            return "nothing"
        return "a wall" if kind in ("wall", "unseen") else self._name(cell)

    def _walls(self, image: Any) -> Iterator[tuple[str, int]]:
        """The nearest wall in each direction, where it can be seen."""
        width, depth, _ = image.shape
        middle, last = width // 2, depth - 1
        lines = {
            "ahead": [image[middle, y] for y in reversed(range(last))],
            "left": [image[x, last] for x in reversed(range(middle))],
            "right": [image[x, last] for x in range(middle + 1, width)],
        }
        for side, cells in lines.items():
            for steps, cell in enumerate(cells, 1):
                if self._kind(cell) == "wall":
                    yield side, steps
                    break


def _where(right: int, ahead: int) -> str:
    side = f"{abs(right)} {'right' if right > 0 else 'left'}" if right else ""
    return ", ".join(filter(None, [f"{ahead} ahead" if ahead else "", side]))
