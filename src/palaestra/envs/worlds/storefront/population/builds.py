"""Custom PCs: ordered ones that work, drafts that work, and drafts with exactly one wrong part."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from palaestra.envs.worlds.storefront.policy import StorePolicy, build_problems
from palaestra.envs.worlds.storefront.schema import Build, Category, Product
from palaestra.seeding import Stream

Parts: TypeAlias = dict[Category, Product]

_PARTS: tuple[Category, ...] = ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler")
_FITTED_LAST: tuple[Category, ...] = ("cooler", "case", "psu")
_FLAWS: tuple[tuple[str, Category], ...] = (
    ("power", "psu"),
    ("memory", "memory"),
    ("length", "case"),
    ("cooler", "cooler"),
)
"""What can be wrong with a draft, as `build_problems` begins its sentence, and the part that is wrong."""
_FLAWED = 12
_NAMES = (
    "Gaming rig", "Home office", "Video cutter", "Quiet box", "Living-room PC", "Student PC", "Render box",
    "LAN box", "Music studio", "First build", "Photo desk", "Streaming PC", "Upgrade", "Workstation",
    "Family PC",
)  # fmt: skip


class Workshop:
    """Puts PCs together from the products of a world.

    Args:
        stream: Decides every part.
        policy: The rules of compatibility.
        products: What there is.
    """

    def __init__(self, stream: Stream, policy: StorePolicy, products: Sequence[Product]) -> None:
        self._stream = stream
        self._policy = policy
        self._by_category: Mapping[Category, list[Product]] = {
            category: [p for p in products if p.category == category] for category in _PARTS
        }
        self._count = 0

    def working(self) -> Parts:
        """Parts that fit each other and are all in stock."""
        while True:
            parts: Parts = {
                "storage": self._stream.choice(self._list_stocked("storage")),
                "gpu": self._stream.choice(self._list_stocked("gpu")),
            }
            cpu = parts["cpu"] = self._stream.choice(self._list_stocked("cpu"))
            boards = [b for b in self._list_stocked("motherboard") if b.socket == cpu.socket]
            if not boards:
                continue
            board = parts["motherboard"] = self._stream.choice(boards)
            memory = [m for m in self._list_stocked("memory") if m.memory_type == board.memory_type]
            parts["memory"] = self._stream.choice(memory)
            for category in _FITTED_LAST:
                fitting = [p for p in self._list_stocked(category) if not self.problems(_swap(parts, p))]
                if not fitting:
                    break
                parts[category] = self._stream.choice(fitting)
            else:
                return parts

    def flawed_parts(self, flaw: str, category: Category) -> Parts:
        """Parts of which exactly one is wrong; a right one is in stock."""
        while True:
            parts = self.working()
            wrong = [p for p in self._by_category[category] if self._only(flaw, _swap(parts, p))]
            if wrong:
                return _swap(parts, self._stream.choice(wrong))

    def problems(self, parts: Parts) -> list[str]:
        """What `build_problems` says of these parts."""
        return build_problems(self._policy, list(parts.values()))

    def build(self, customer_id: str, status: Literal["draft", "ordered"], parts: Parts) -> Build:
        """The next build row. A draft of a PC without a graphics card stands for a part still missing."""
        self._count += 1
        return Build(
            id=f"BLD-{1000 + self._count}",
            customer_id=customer_id,
            name=self._stream.choice(_NAMES),
            status=status,
            cpu_id=parts["cpu"].id,
            motherboard_id=parts["motherboard"].id,
            memory_id=parts["memory"].id,
            gpu_id=parts["gpu"].id if "gpu" in parts else None,
            storage_id=parts["storage"].id,
            psu_id=parts["psu"].id,
            case_id=parts["case"].id,
            cooler_id=parts["cooler"].id,
        )

    def _list_stocked(self, category: Category) -> list[Product]:
        return [p for p in self._by_category[category] if p.stock > 0]

    def _only(self, flaw: str, parts: Parts) -> bool:
        problems = self.problems(parts)
        return len(problems) == 1 and problems[0].startswith(flaw)


def _swap(parts: Parts, part: Product) -> Parts:
    return {**parts, part.category: part}


def ordered_builds(workshop: Workshop, customer_ids: Sequence[str]) -> list[tuple[Build, list[Product]]]:
    """One ordered build for each of these customers, with its parts."""
    found: list[tuple[Build, list[Product]]] = []
    for customer_id in customer_ids:
        parts = workshop.working()
        found.append((workshop.build(customer_id, "ordered", parts), [parts[c] for c in _PARTS]))
    return found


def drafts(workshop: Workshop, customer_ids: Sequence[str]) -> list[Build]:
    """One draft for each of these customers; the first of them are flawed, one flaw after the other."""
    found: list[Build] = []
    for number, customer_id in enumerate(customer_ids):
        if number < _FLAWED:
            parts = workshop.flawed_parts(*_FLAWS[number % len(_FLAWS)])
        else:
            parts = workshop.working()
            if number % 4 == 0:
                del parts["gpu"]
        found.append(workshop.build(customer_id, "draft", parts))
    return found
