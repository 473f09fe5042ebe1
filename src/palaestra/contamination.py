"""What nothing may be learnt from: tasks that policies are measured on, by their split and by their words.

Two rules, asked of every episode before it is trained on. A task's split must be one to learn from: "train" or "dev",
alone or after a hyphen as in "generated-train", and so marked by its benchmark. And what its user says must be on no
list. A list holds hashes of prompts, and nothing else of a benchmark: 64 bits of BLAKE2b over the words, folded to
lower case, white space as single spaces, punctuation at both ends left out. A prompt of four words or more is on a list
whole, and one of several lines also with each line of eight words or more. Shorter ones, such as "Book it.", are
anybody's and on no list. Two wide characters, as of Chinese, are counted as a word.

It does not find a prompt whose words were changed, and it does not look at what tools answer. What a benchmark says in
splits to learn from is on no list either, though it may also stand in a test: all tickets of tau2's telecom-solo do.
There is no list of MiniWoB++ and ScienceWorld, whose openings take a browser and a Java process each to see (`palaestra
suites hashes` writes one for who has the time), nor of WebShop, AppWorld and Toolathlon: their tasks are refused by
split alone.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from palaestra.durable import write_file
from palaestra.errors import ContaminationError, RecordError
from palaestra.records import Message, TaskSpec
from palaestra.trajectory import Episode

LEARNT_FROM = ("train", "dev")
"""The splits that a policy may learn from, as the last part of a split's name; the "dev" of a benchmark only where its
authors give it for that."""
LISTS = Path(__file__).with_name("contaminated")
"""The lists that come with Palaestra; a file's name is `BENCHMARK.SPLIT.txt`."""
_WHOLE = 4
"""The fewest words of a prompt that is known at all: "Yes, please." is anybody's."""
_LINE = 8
"""The fewest words of a line that counts by itself: shorter ones are anybody's."""


def normal(text: str) -> str:
    """The words of `text`, however they are set: what is hashed."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    first, last = 0, len(folded)
    while first < last and not folded[first].isalnum():
        first += 1
    while last > first and not folded[last - 1].isalnum():
        last -= 1
    return folded[first:last]


def prompt_hash(text: str) -> str:
    """64 bits of the words of `text`, as 16 hexadecimal digits."""
    return blake2b(normal(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def prompt_hashes(text: str) -> Iterator[str]:
    """The hashes of a prompt: whole, and of each of its lines, as far as they are long enough to be known by."""
    if _words(text) < _WHOLE:
        return
    yield prompt_hash(text)
    lines = [line for line in text.splitlines() if normal(line)]
    if len(lines) > 1:
        yield from (prompt_hash(line) for line in lines if _words(line) >= _LINE)


def _words(text: str) -> int:
    """How many words there are; scripts that set no spaces have one in two characters."""
    words = normal(text)
    return len(words.split()) + sum(unicodedata.east_asian_width(character) in "WF" for character in words) // 2


def write_list(path: Path, prompts: Iterable[str], *, learnt_from: Iterable[str] = ()) -> int:
    """Write a list of the prompts of a split, sorted; return how many hashes it has.

    Args:
        path: `FOLDER/BENCHMARK.SPLIT.txt`.
        prompts: What users of the split say.
        learnt_from: What users say in splits to learn from: nothing of it can be on the list.

    Raises:
        StorageError: it cannot be written.
    """
    common = {one for prompt in learnt_from for one in prompt_hashes(prompt)}
    found = {one for prompt in prompts for one in prompt_hashes(prompt)} - common
    write_file(path, "".join(f"{one}\n" for one in sorted(found)).encode())
    return len(found)


def read_list(path: Path) -> list[str]:
    """The hashes of a list.

    Raises:
        RecordError: it cannot be read, or a line is no hash.
    """
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} is no list of hashes ({error}); `palaestra suites hashes` writes one") from error
    for number, line in enumerate(lines, 1):
        if line and (len(line) != 16 or not set(line) <= set("0123456789abcdef")):
            raise RecordError(f"{path}, line {number}: {line[:40]!r} is no hash of 16 hexadecimal digits")
    return [line for line in lines if line]


class Guard:
    """Refuses what a policy is measured on.

    Args:
        lists: Files of hashes besides those that come with Palaestra.

    Raises:
        RecordError: a file is no list.
    """

    def __init__(self, lists: Sequence[Path] = ()) -> None:
        self._known = dict(_read_packaged())
        for path in lists:
            self._known.update(_read(path))

    def find_list(self, text: str) -> str | None:
        """The list that a prompt is on, as "benchmark, split"; `None` if it is on none."""
        return next((self._known[one] for one in prompt_hashes(text) if one in self._known), None)

    def check(self, task: TaskSpec, said: Sequence[str]) -> None:
        """Let a task through that may be learnt from.

        Args:
            task: Which task.
            said: What its user says: messages, or all of them as one text.

        Raises:
            ContaminationError: it may not.
        """
        if task.split.rpartition("-")[2] not in LEARNT_FROM or task.unseen:
            raise ContaminationError(
                f"task {task.id!r} is of the split {task.split!r}, which policies are measured on, so nothing may be "
                f"learnt from it; train on one of {', '.join(LEARNT_FROM)}"
            )
        for text in said:
            if where := self.find_list(text):
                raise ContaminationError(
                    f"what the user says in task {task.id!r} is a prompt of {where}, which policies are measured on; "
                    "leave the task out, or measure elsewhere"
                )

    def check_episodes(self, episodes: Iterable[Episode]) -> None:
        """Let episodes through that may be learnt from; raises as `check` does."""
        for episode in episodes:
            self.check(episode.task, _list_texts(episode))


def of_users(messages: Iterable[Message]) -> Iterator[str]:
    """What users say in some messages."""
    return (message["content"] for message in messages if message["role"] == "user")


def _list_texts(episode: Episode) -> list[str]:
    """Each message that an episode begins with, and all that the user says, as one text."""
    opening = [text for segment in episode.segments for text in of_users(segment.prompt)]
    later = [text for turn in episode.turns for text in of_users(turn.observation)]
    return [*opening, "\n".join([*opening, *later])] if len(opening) + len(later) > 1 else opening


def _read(path: Path) -> dict[str, str]:
    return dict.fromkeys(read_list(path), path.stem.replace(".", ", "))


@cache
def _read_packaged() -> dict[str, str]:
    return {one: where for path in sorted(LISTS.glob("*.txt")) for one, where in _read(path).items()}
