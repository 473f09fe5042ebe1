"""Facts about values and records in messages, read from the memory of an episode."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palaestra.benchmarks.learnability.memory import ABOUT, USER, Candidate, CaseMemory, RecordKey, token
from palaestra.benchmarks.learnability.reading import ReadRecord, ReadValue
from palaestra.benchmarks.learnability.trees import TreeFeatures

WANTED, UNWANTED = "wanted", "unwanted"
"""Labels: whether a tool is still to be called with a value."""
_DAY_LIMITS = (-60, -45, -30, -14, -3, 0)


@dataclass(slots=True)
class CaseFacts(CaseMemory):
    """Facts about values and records, and the values with which a tool is still to be called."""

    def wanted_values(self, tool: str, kind: str) -> tuple[Candidate, ...]:
        """The unused values of a kind with which a tool is to be called, in the order of first showing."""
        if (kind, tool) not in self._wanted:
            forest = self.wants.get(tool)
            self._wanted[kind, tool] = tuple(
                one
                for one in self.unused_values(tool, kind)
                if forest is not None and forest.decide(self.candidate_features(one)) == WANTED
            )
        return self._wanted[kind, tool]

    def candidate_features(self, candidate: Candidate) -> TreeFeatures:
        """The features of a candidate in messages."""
        numbers: dict[str, float] = {}
        for place in self.places[candidate]:
            if place.key is None:
                continue
            name = f"{place.key[0]}.{place.key[1]}.{place.name}"
            for column, value in self.records[place.key].fields.items():
                if value.days is not None:
                    numbers[f"{name} with {column} days"] = value.days
                if value.gap is not None:
                    numbers[f"{name} with {column} gap"] = value.gap
                if len(value.numbers) == 1:
                    numbers[f"{name} with {column}"] = float(value.numbers[0])
        return TreeFeatures(has=frozenset(self.facts(candidate)), numbers=numbers)

    def facts(self, candidate: Candidate) -> tuple[str, ...]:
        """The facts of a candidate in messages, regardless of its use."""
        if candidate not in self._facts:
            self._facts[candidate] = tuple(dict.fromkeys(self._facts_of(candidate)))
        return self._facts[candidate]

    def _facts_of(self, candidate: Candidate) -> Iterator[str]:
        for place in self.places[candidate]:
            if place.key is None:
                yield from (f"in {USER} {place.name}", f"in {USER}")
                continue
            record = self.records[place.key]
            name = f"{place.key[0]}.{place.key[1]}.{place.name}"
            yield from (f"in {name}", f"in a record of {place.key[0]}.{place.key[1]}")
            yield from (f"{name} with {one}" for one in fewer(record))
            if self._spoken & set(place.name.split("_")):
                yield "in a field that the user named"
            for column, value in record.fields.items():
                field = f"{place.key[0]}.{place.key[1]}.{column}"
                yield from (f"{name} with {column}={word}" for word in self._words_in(field, value))
                yield from (f"{name} with {column} {one}" for one in self._comparisons(value))
                if value.days is not None:
                    yield from (f"{name} with {column} days>={limit}" for limit in _DAY_LIMITS if value.days >= limit)
                for mark in value.marks:
                    if mark == candidate.text and column == place.name:
                        continue
                    if self._is_said(mark):
                        yield f"{name} with {column} of the user"
                    if column != ABOUT:
                        if self._is_shared(place.key, column, mark):
                            yield f"{name} with {column} shared"
                        yield from (f"{name} with {column}->{feature}" for feature in self._facts_of_reference(mark))

    def _words_in(self, field: str, value: ReadValue) -> frozenset[str]:
        """The words of a field that may decide; of a name or count, only its comparisons and whether it is zero."""
        if field not in self.names:
            return value.words
        return value.comparisons | {"0"} if value.text == "0" else value.comparisons

    def _facts_in(self, field: str, value: ReadValue) -> Iterator[str]:
        """The words of a field, without the ranks between the least and the greatest."""
        return (word for word in self._words_in(field, value) if not word.startswith("#") or word == "#1")

    def _comparisons(self, value: ReadValue) -> Iterator[str]:
        """The comparisons of a value with values of the user and of other fields."""
        for word, mark in value.compared:
            for place in self.places.get(Candidate(sort="handle", text=mark), ()):
                if place.key is None:
                    yield f"{word} {USER}"
                    continue
                name = f"{place.key[0]}.{place.key[1]}.{place.name}"
                yield f"{word} {name}"
                shown = self.records[place.key].fields[place.name].marks
                if mark in shown and len(shown) > 1:
                    yield f"{word} {name} {shown.index(mark)}"

    def _facts_of_reference(self, mark: str) -> tuple[str, ...]:
        """The facts of the records that a handle names."""
        if mark not in self._references:
            self._references[mark] = tuple(self._read_references(mark))
        return self._references[mark]

    def _read_references(self, mark: str) -> Iterator[str]:
        for key in self._named.get(mark, ()):
            for name, value in self.records[key].fields.items():
                if name not in ("id", ABOUT):
                    place = f"{key[0]}.{key[1]}.{name}"
                    yield from (f"{key[0]}.{name}={word}" for word in self._facts_in(place, value))

    def _is_shared(self, key: RecordKey, column: str, mark: str) -> bool:
        """Whether another record of the listing has the same value in a column."""
        if not self._shared:
            for other, record in self.records.items():
                for name, value in record.fields.items():
                    for one in value.marks:
                        place = (other[0], other[1], name, one)
                        self._shared[place] = self._shared.get(place, 0) + 1
        return self._shared.get((key[0], key[1], column, mark), 0) > 1

    def _elsewhere(self, mark: str, name: str) -> Iterator[str]:
        """The fields of other listings that show a handle."""
        for place in self.places.get(Candidate(sort="handle", text=mark), ()):
            if place.key is not None and f"{place.key[0]}.{place.key[1]}" != name and place.name != ABOUT:
                yield f"{place.key[0]}.{place.key[1]}.{place.name}"

    def _neighbours(self, key: RecordKey) -> Iterator[RecordKey]:
        """The records that a record names."""
        for column, value in self.records[key].fields.items():
            if column not in ("id", ABOUT):
                yield from (other for mark in value.marks for other in self._named.get(mark, ()) if other != key)

    def _ends_of(
        self, tool: str, path: str, column: str, unused: Sequence[Candidate], by: str
    ) -> dict[str, frozenset[Candidate]]:
        """The unused values whose records rank least and greatest in a field of a listing."""
        key = (tool, path, column, by)
        if key not in self._ends:
            ladder = {token: rank for rank, token in enumerate(self._ladders[tool, path, column])}
            ranks = {
                one: ladder.get(token(self.records[tool, path, one.text].fields[column]), -1)
                for one in unused
                if (tool, path, one.text) in self.records and column in self.records[tool, path, one.text].fields
            }
            self._ends[key] = {
                word: frozenset(one for one, rank in ranks.items() if rank == end(ranks.values()))
                for word, end in (("least", min), ("greatest", max))
                if ranks
            }
        return self._ends[key]

    def _is_next(self, listing: tuple[str, str, str], candidate: Candidate, by: str) -> bool:
        """Whether a record ranks next after those that the last turn named, or least after a call of another tool.

        Of records with equal rank, the one that was shown first comes first.
        """
        if listing not in self._orders:
            tool, path, column = listing
            ladder = {text: rank for rank, text in enumerate(self._ladders[listing])}
            ranks = {
                key[2]: ladder[token(self.records[key].fields[column])]
                for key in self._listed[tool, path]
                if column in self.records[key].fields and token(self.records[key].fields[column]) in ladder
            }
            self._orders[listing] = {mark: n for n, mark in enumerate(sorted(ranks, key=lambda one: ranks[one]))}
        order = self._orders[listing]
        about = self.about if self.tools[-1] == by else ()
        last = max((order[mark] for mark in about if mark in order), default=-1)
        return order.get(candidate.text) == last + 1

    def _greatest_recency(self, group: tuple[str, str]) -> tuple[int, bool, int]:
        if group not in self._nearest:
            self._nearest[group] = max(self._recency(key) for key in self.records if key[:2] == group)
        return self._nearest[group]


def plain_numbers(record: ReadRecord) -> dict[str, float]:
    """The numbers of fields that show only a number."""
    return {
        name: float(value.numbers[0])
        for name, value in record.fields.items()
        if len(value.numbers) == 1 and value.numbers[0] == value.text
    }


def fewer(record: ReadRecord) -> Iterator[str]:
    """Comparisons between the numbers of a record: which number is less than which other."""
    numbers = plain_numbers(record)
    for name, count in numbers.items():
        yield from (f"{name} under {other}" for other, more in numbers.items() if count < more)
