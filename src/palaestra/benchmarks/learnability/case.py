"""The features of an episode at a decision about the next turn, and of the values that the turn could write."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from palaestra.benchmarks.learnability.facts import CaseFacts, fewer, plain_numbers
from palaestra.benchmarks.learnability.memory import ABOUT, Candidate, Place, RecordKey
from palaestra.benchmarks.learnability.reading import ReadRecord, marks_of, words_of
from palaestra.benchmarks.learnability.trees import TreeFeatures

_MOST_COUNTED = 4
_MOST_PLACES = 10


@dataclass(slots=True)
class Case(CaseFacts):
    """An episode so far, and its features at a decision."""

    def moment(self, takes: Mapping[str, frozenset[str]]) -> TreeFeatures:
        """The features at a decision about the next turn.

        Args:
            takes: For each tool that is called several times, the kinds of handles that its calls name.
        """
        has: set[str] = set()
        numbers: dict[str, float] = {}
        self._history(has, numbers)
        self._words(has)
        marked: dict[str, set[str]] = defaultdict(set)
        for text in self.said:
            for mark, before in marks_of(text):
                marked[mark].add(f"user {before}")
        groups: dict[tuple[str, str], list[RecordKey]] = defaultdict(list)
        for key, record in self.records.items():
            if len(record.fields) > 1:
                groups[key[:2]].append(key)
        for (tool, path), keys in groups.items():
            name = f"{tool}.{path}"
            last = [key for key in keys if self.seen[key] == len(self.tools)]
            numbers[f"a:{name}"] = len(keys)
            numbers[f"a:last {name}"] = len(last)
            self._all_of("a", name, keys, has)
            asked = [key for key in keys if self._is_asked(key)]
            if asked and len(asked) < len(keys):
                self._all_of("q", name, asked, has)
            if last:
                numbers[f"l:{path}"] = len(last)
            nearest = max(keys, key=self._recency)
            fresh = self.seen[nearest] == len(self.tools)
            self._one_of(name, self.records[nearest], has, numbers, marked, fresh=fresh)
            for column, value in self.records[nearest].fields.items() if len(keys) == 1 else ():
                shown = (other for mark in value.marks for other in self._elsewhere(mark, name))
                has.update(f"k:{name}.{column} in {other}" for other in shown)
        for names in marked.values():
            ordered = sorted(names)
            has |= {f"e:{a} is {b}" for n, a in enumerate(ordered) for b in ordered[n + 1 :]}
        for tool, kinds in takes.items():
            self._note_unused(tool, kinds, has, numbers)
        self._join(has)
        return TreeFeatures(has=frozenset(has), numbers=numbers)

    def _history(self, has: set[str], numbers: dict[str, float]) -> None:
        has.add(f"h:last={self.turns[-1] if self.turns else ''}")
        has.add(f"h:before={self.turns[-2] if len(self.turns) > 1 else ''}")
        has.update(f"h:did {turn}" for turn in self.turns)
        has.update(f"h:wrote {name}={word}" for name, word in self.own_words.items())
        for tool in set(self.tools):
            count = self.tools.count(tool)
            has.update(f"h:{tool}>={n}" for n in range(1, min(count, _MOST_COUNTED) + 1))
            numbers[f"h:{tool}"] = count

    def _words(self, has: set[str]) -> None:
        for text, name in ((" ".join(self.said), "m"), (self.said[-1] if self.said else "", "m:last")):
            words = list(words_of(text))
            has.update(f"{name}:{word}" for word in words)
            has.update(f"{name}:{a} {b}" for a, b in pairwise(words))

    def _one_of(
        self,
        name: str,
        record: ReadRecord,
        has: set[str],
        numbers: dict[str, float],
        marked: dict[str, set[str]],
        *,
        fresh: bool,
    ) -> None:
        group = "l" if fresh else "f"
        has.update(f"{group}:{name}.{one}" for one in fewer(record))
        for key, value in record.fields.items():
            if key == ABOUT:
                continue
            has.add(f"{group}:{name}.{key}")
            has.update(f"{group}:{name}.{key}={word}" for word in self._facts_in(f"{name}.{key}", value))
            if value.days is not None:
                numbers[f"{group}:{name}.{key} days"] = value.days
            if value.gap is not None:
                numbers[f"{group}:{name}.{key} gap"] = value.gap
            has.update(f"{group}:{name}.{key} {one}" for one in self._comparisons(value))
            if len(value.numbers) == 1:
                numbers[f"{group}:{name}.{key}"] = float(value.numbers[0])
            for mark in value.marks:
                marked[mark].add(f"{name}.{key}")
                has.update(f"r:{name}.{key}->{feature}" for feature in self._facts_of_reference(mark))

    def _join(self, has: set[str]) -> None:
        """Add comparisons of a record's numbers with those of the record that it names, over all such pairs."""
        found: dict[str, list[bool]] = defaultdict(list)
        for key, record in self.records.items():
            own = plain_numbers(record)
            for other in self._neighbours(key) if own else ():
                for column, number in plain_numbers(self.records[other]).items():
                    for name, count in own.items():
                        compared = f"{other[0]}.{other[1]}.{column} under {key[0]}.{key[1]}.{name}"
                        found[compared].append(number < count)
        for compared, values in found.items():
            has |= {f"j:some {compared}"} if any(values) else set()
            has |= {f"j:all {compared}"} if all(values) else set()

    def _all_of(self, group: str, name: str, keys: Sequence[RecordKey], has: set[str]) -> None:
        said: dict[str, int] = defaultdict(int)
        for key in keys:
            for column, value in self.records[key].fields.items():
                for word in self._facts_in(f"{name}.{column}", value):
                    said[f"{name}.{column}={word}"] += 1
        has.update(f"{group}:some {one}" for one in said)
        has.update(f"{group}:all {one}" for one, count in said.items() if count == len(keys))
        has.update(f"{group}:several {one}" for one, count in said.items() if count > 1)

    def _note_unused(self, tool: str, kinds: frozenset[str], has: set[str], numbers: dict[str, float]) -> None:
        """Add features of the values with which a tool has not been called."""
        left = [one for kind in sorted(kinds) for one in self.unused_values(tool, kind)]
        numbers[f"c:{tool}"] = len(left)
        wanted = sum(len(self.wanted_values(tool, kind)) for kind in kinds)
        numbers[f"w:{tool}"] = wanted
        has |= {f"w:{tool}"} if wanted else set()
        for one in left:
            has.update(f"u:{tool} {feature}" for feature in self.facts(one))

    def describe(self, candidate: Candidate, tool: str, before: Mapping[str, Candidate]) -> frozenset[str]:
        """The features that distinguish a candidate from others.

        Args:
            candidate: A value that was shown.
            tool: The tool of the call.
            before: The values that the call has already chosen, by argument.
        """
        has = {f"kind={candidate.kind}"}
        if candidate not in self.places:
            return frozenset(has)
        same = self._of_kind[candidate.kind]
        has.add(f"order={same[candidate]}")
        has |= {"order=last"} if same[candidate] == len(same) - 1 else set()
        unused = self.unused_values(tool, candidate.kind)
        self._place_in(candidate, tool, unused, has)
        if tool not in self.used.get(candidate, ()):
            has.add("unused by tool")
            has |= {"first unused by tool"} if unused[0] == candidate else set()
            has |= {"last unused by tool"} if unused[-1] == candidate else set()
            wanted = self.wanted_values(tool, candidate.kind)
            if candidate in wanted:
                has.add("wanted")
                has |= {"first wanted"} if wanted[0] == candidate else set()
                has |= {"last wanted"} if wanted[-1] == candidate else set()
        has |= {"longest unused by tool"} if self._longest_unused(tool, candidate.kind) == candidate else set()
        uses = self.used.get(candidate, {})
        has.update(f"used by {name}" for name in uses)
        has |= {"used in the last turn"} if uses and max(uses.values()) == len(self.tools) else set()
        has |= set() if uses else {"never used"}
        has.update(self.facts(candidate))
        for place in self.places[candidate]:
            self._relate(place, candidate, before, has)
        has |= {"chosen"} if candidate in before.values() else set()
        has.update(f"chosen as {name}" for name, one in before.items() if one == candidate)
        self._stand(candidate, tool, before, has)
        return frozenset(has)

    def _stand(self, candidate: Candidate, tool: str, before: Mapping[str, Candidate], has: set[str]) -> None:
        """Add a candidate's positions in listings, and among the values that are left of them."""
        for place in self.places[candidate]:
            if place.key is None:
                continue
            name = f"{place.key[0]}.{place.key[1]}.{place.name}"
            has.update(
                f"in a field that {one} named" for one, word in self.own_words.items() if word in place.name.split("_")
            )
            listed = self._listed[place.key[:2]]
            at = listed[place.key]
            has |= {f"at {at} in {name}"} if at < _MOST_PLACES else set()
            has |= {f"at last in {name}"} if at == len(listed) - 1 else set()
            if (name, tool) not in self._first_left:
                left = (one for one in self._columns[name] if tool not in self.used.get(one, ()))
                self._first_left[name, tool] = next(left, None)
            has |= {f"first unused in {name}"} if self._first_left[name, tool] == candidate else set()
            if before:
                self._follow(place.key, candidate, before, has)
                unchosen = [one for one in self._columns[name] if one not in before.values()]
                is_begun = len(unchosen) < len(self._columns[name])
                has |= {f"first unchosen in {name}"} if is_begun and unchosen[:1] == [candidate] else set()

    def _follow(self, key: RecordKey, candidate: Candidate, before: Mapping[str, Candidate], has: set[str]) -> None:
        """Add whether a record shows a candidate next after the last chosen value, with and without named fields."""
        fields = [(name, mark) for name, value in self.records[key].fields.items() for mark in value.marks]
        last = list(before.values())[-1].text
        places = [number for number, (_, mark) in enumerate(fields) if mark == last]
        if not places:
            return
        after = fields[places[0] + 1 :]
        named = {name for name, _ in after if set(name.split("_")) & set(self.own_words.values())}
        has |= {"follows in the record"} if after[:1] and after[0][1] == candidate.text else set()
        others = [mark for name, mark in after if name not in named]
        has |= {"follows in the record, named fields apart"} if others[:1] == [candidate.text] else set()

    def _place_in(self, candidate: Candidate, tool: str, unused: Sequence[Candidate], has: set[str]) -> None:
        """Add whether a candidate ranks least or greatest among the unused values of a listing."""
        for place in self.places[candidate]:
            if place.key is None or place.key[2] != candidate.text:
                continue
            for column in self.records[place.key].fields:
                if (*place.key[:2], column) in self._ladders:
                    ends = self._ends_of(*place.key[:2], column, unused, tool)
                    has.update(f"{word} {column} unused" for word, ones in ends.items() if candidate in ones)
                    has |= {f"next {column}"} if self._is_next((*place.key[:2], column), candidate, tool) else set()

    def _longest_unused(self, tool: str, kind: str) -> Candidate:
        """The least recently used value of a kind, among the values with which a tool was called."""
        called = [one for one in self._of_kind[kind] if tool in self.used.get(one, ())] or list(self._of_kind[kind])
        return min(called, key=lambda one: self.used.get(one, {}).get(tool, 0))

    def _relate(self, place: Place, candidate: Candidate, before: Mapping[str, Candidate], has: set[str]) -> None:
        """Add the relations of a place to used and chosen values."""
        if place.key is None:
            return
        name = f"{place.key[0]}.{place.key[1]}.{place.name}"
        if self.seen[place.key] == len(self.tools):
            has.add(f"fresh in {name}")
        if self.seen[place.key] == self._last_answer[place.key[0]]:
            has.add(f"last in {name}")
        marks = self.records[place.key].marks() | {place.key[2]}
        has.update(f"beside {argument} in {name}" for argument, one in before.items() if one.text in marks)
        others = [self._last_use(mark) for mark in marks if mark != candidate.text]
        if max(others, default=0) == len(self.tools) and self.tools:
            has.add(f"beside used last in {name}")
        if self._recency(place.key) == self._greatest_recency(place.key[:2]):
            has.add(f"in the nearest {name}")
