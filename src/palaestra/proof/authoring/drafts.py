"""The folder of an author's drafts: each answer, its document, its findings, and an index for programs.

An answer is on the disk before it is judged, and its index line is written afterwards. So a kill loses no answer: the
next start judges answers without a line, and asks the model only for missing answers.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import make_folder, write_file
from palaestra.errors import ConfigError, RecordError
from palaestra.proof.authoring.judgement import Stage
from palaestra.records import JsonObject

INDEX, BRIEF = "index.json", "brief.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredDraft:
    """One draft and its judgement: an entry of the index."""

    number: int
    part: int
    """0 for the world itself, then the number of the extension."""
    stage: Stage
    """The stage that it failed; "proved" if none."""
    findings: tuple[str, ...]
    digest: str
    """A digest of the document's content, equal for drafts with the same content."""
    document: str
    """The file of the document; empty if the answer has none."""
    answer: str
    """The file of the model's answer."""
    summary: str = ""
    """The verdict of the proof, if it was reached."""


class DraftFolder:
    """The drafts of one world.

    Args:
        folder: The folder, which may be new.
        brief: The author's task; a folder of another brief is refused.

    Raises:
        ConfigError: the folder belongs to another brief, or has other files.
        RecordError: its index cannot be read.
    """

    def __init__(self, folder: Path, brief: JsonObject) -> None:
        self.folder = folder
        known = folder / BRIEF
        if known.exists():
            if known.read_bytes() != _json(brief):
                raise ConfigError(f"{folder} holds the drafts of another brief; name another folder, or its own brief")
        elif folder.is_dir() and any(folder.iterdir()):
            raise ConfigError(f"{folder} is not empty and holds no drafts; name another folder")
        make_folder(folder)
        write_file(known, _json(brief))
        self.drafts: list[AuthoredDraft] = list(self._read())

    def _read(self) -> Sequence[AuthoredDraft]:
        path = self.folder / INDEX
        try:
            return _DRAFTS.validate_json(path.read_bytes()) if path.exists() else ()
        except ValidationError as error:
            raise RecordError(
                f"{path}: it cannot be read: {error.error_count()} fault(s); remove the folder"
            ) from error

    @property
    def next_number(self) -> int:
        """The number of the next draft."""
        return len(self.drafts)

    def pending_answer(self) -> str | None:
        """The answer that was saved but not judged before the last stop."""
        path = self._file("answer.txt")
        return path.read_text(encoding="utf-8") if path.exists() else None

    def keep_answer(self, answer: str) -> None:
        """Save an answer that is not judged yet."""
        write_file(self._file("answer.txt"), answer.encode())

    def keep_document(self, text: str) -> Path:
        """Save the document of the answer; return its file."""
        write_file(self._file("yaml"), text.encode())
        return self._file("yaml")

    def add(self, draft: AuthoredDraft) -> None:
        """Save the judgement of the draft: its findings, then its entry in the index."""
        lines = [f"{draft.stage}{': ' if draft.summary else ''}{draft.summary}", *draft.findings]
        write_file(self._file("reasons.txt"), "\n".join(lines).encode() + b"\n")
        self.drafts.append(draft)
        write_file(self.folder / INDEX, _json([asdict(one) for one in self.drafts]))

    def text_of(self, draft: AuthoredDraft, *, answer: bool = False) -> str:
        """The document of a draft, or the model's answer."""
        name = draft.answer if answer else draft.document
        return (self.folder / name).read_text(encoding="utf-8") if name else ""

    def name_of(self, kind: str) -> str:
        """The name of a file for the next draft."""
        return f"draft-{self.next_number:02d}.{kind}"

    def _file(self, kind: str) -> Path:
        return self.folder / self.name_of(kind)


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"


_DRAFTS = TypeAdapter(tuple[AuthoredDraft, ...])
