"""Keeps tasks that policies are measured on out of training, by their split and by their words.

Every episode must pass two rules before it is trained on. Its task's split must be one to learn from: "train" or "dev",
alone or after a hyphen as in "generated-train", and marked as such by its benchmark. And the words of its user must not
be on a list. A list holds only hashes of a benchmark's prompts: 64 bits of BLAKE2b over the words, folded to lower
case, white space as single spaces, punctuation at both ends left out. A list has each prompt of four words or more as a
whole, and of a prompt of several lines also each line of eight words or more. Shorter ones, such as "Book it.", are too
common to be on a list. Two wide characters, such as Chinese ones, count as a word.

The guard does not find a prompt whose words were changed, and it does not look at the answers of tools. Prompts of a
benchmark's splits to learn from are not listed either, even if a test split repeats them, as with all tickets of tau2's
telecom-solo. MiniWoB++ and ScienceWorld have no list, because reading their openings takes a browser or a Java process
each (`palaestra suites hashes` writes a list, given the time). Nor have WebShop, AppWorld and Toolathlon: their tasks
are refused by split alone.
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
"""The splits that a policy may learn from, as the last part of a split's name; the "dev" of a benchmark only if its
authors intend it for training."""
LISTS = Path(__file__).with_name("contaminated")
"""The lists that come with Palaestra; a file's name is `BENCHMARK.SPLIT.txt`."""
_WHOLE = 4
"""The fewest words of a prompt that is hashed: "Yes, please." is too common."""
_LINE = 8
"""The fewest words of a line that is hashed by itself: shorter ones are too common."""


def normal(text: str) -> str:
    """The words of `text` in the form that is hashed, without case, spacing and outer punctuation."""
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
    """The hashes of a prompt and of each of its lines, for those that are long enough."""
    if _words(text) < _WHOLE:
        return
    yield prompt_hash(text)
    lines = [line for line in text.splitlines() if normal(line)]
    if len(lines) > 1:
        yield from (prompt_hash(line) for line in lines if _words(line) >= _LINE)


def _words(text: str) -> int:
    """The number of words; in scripts without spaces, two characters count as a word."""
    words = normal(text)
    return len(words.split()) + sum(unicodedata.east_asian_width(character) in "WF" for character in words) // 2


def write_list(path: Path, prompts: Iterable[str], *, learnt_from: Iterable[str] = ()) -> int:
    """Write the sorted list of a split's prompts and return its number of hashes.

    Args:
        path: `FOLDER/BENCHMARK.SPLIT.txt`.
        prompts: The texts of the split's users.
        learnt_from: The texts of users in splits to learn from; none of them is listed.

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
        RecordError: the file cannot be read, or a line is not a hash.
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
    """Refuses tasks that policies are measured on.

    Args:
        lists: Files of hashes in addition to those that come with Palaestra.

    Raises:
        RecordError: a file is not a list.
    """

    def __init__(self, lists: Sequence[Path] = ()) -> None:
        self._known = dict(_read_packaged())
        for path in lists:
            self._known.update(_read(path))

    def find_list(self, text: str) -> str | None:
        """The list that a prompt is on, as "benchmark, split"; `None` if it is on none."""
        return next((self._known[one] for one in prompt_hashes(text) if one in self._known), None)

    def check(self, task: TaskSpec, said: Sequence[str]) -> None:
        """Check that a task may be learnt from.

        Args:
            task: The task.
            said: The messages of its user, or all of them as one text.

        Raises:
            ContaminationError: the task may not be learnt from.
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
        """Check that all `episodes` may be learnt from; raises as `check` does."""
        for episode in episodes:
            self.check(episode.task, _list_texts(episode))


def of_users(messages: Iterable[Message]) -> Iterator[str]:
    """The texts of the users' messages."""
    return (message["content"] for message in messages if message["role"] == "user")


def _list_texts(episode: Episode) -> list[str]:
    """Each opening message of an episode, and everything that the user says as one text."""
    opening = [text for segment in episode.segments for text in of_users(segment.prompt)]
    later = [text for turn in episode.turns for text in of_users(turn.observation)]
    return [*opening, "\n".join([*opening, *later])] if len(opening) + len(later) > 1 else opening


def _read(path: Path) -> dict[str, str]:
    return dict.fromkeys(read_list(path), path.stem.replace(".", ", "))


@cache
def _read_packaged() -> dict[str, str]:
    return {one: where for path in sorted(LISTS.glob("*.txt")) for one, where in _read(path).items()}
