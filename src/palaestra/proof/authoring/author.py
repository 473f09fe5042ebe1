"""The loop of authoring: a model writes, code judges, and the findings go back to the model, for bounded rounds."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.envs.blueprints.document import read_plain
from palaestra.errors import BlueprintError, ConfigError, InfrastructureError, ReplyError, ServerError, WaitError
from palaestra.proof.authoring.answer import MAX_ANSWER, find_document
from palaestra.proof.authoring.drafts import AuthoredDraft, DraftFolder
from palaestra.proof.authoring.extension import merge_extension
from palaestra.proof.authoring.judgement import Judgement, LeastSize
from palaestra.proof.authoring.limited import judge_within_limits
from palaestra.proof.authoring.prompt import ask_for_extension, ask_for_repair, ask_for_world
from palaestra.protocols import ChatModel
from palaestra.records import Message
from palaestra.seeding import Stream

WORLD = "world.yaml"
"""The proved document in a folder of drafts."""
LONGEST_BRIEF = 400


class Judge(Protocol):
    """Judges the document in a file."""

    def __call__(self, path: Path, least: LeastSize | None = None, /) -> Judgement:
        """Judge the document."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoringBrief:
    """The task of an author."""

    about: str
    """The trade, in a sentence."""
    rounds: int = 8
    """Maximum drafts of the world and of each extension."""
    extensions: int = 0
    """The number of extensions of the proved world."""
    least: LeastSize = field(default_factory=LeastSize)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the sentence and the numbers.

        Raises:
            ConfigError: the sentence is empty, too long or has several lines, or a number is out of range.
        """
        if not self.about.strip() or len(self.about) > LONGEST_BRIEF or not self.about.isprintable():
            raise ConfigError(
                f"about={self.about[:60]!r}: describe the trade in one line of at most {LONGEST_BRIEF} characters"
            )
        if self.rounds < 1 or self.extensions < 0:
            raise ConfigError(f"rounds={self.rounds}, extensions={self.extensions}: write at least 1 and 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoringResult:
    """The result: a proved world, or a refusal."""

    world: Path | None
    """The proved document; `None` if the author is refused."""
    extensions: int
    """The number of extensions of the world."""
    drafts: tuple[AuthoredDraft, ...]
    stopped: str
    """Why no further draft was requested; empty if everything requested is proved."""

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings about the last draft."""
        return self.drafts[-1].findings


def write_world(
    brief: AuthoringBrief,
    model: ChatModel,
    folder: Path,
    *,
    judge: Judge = judge_within_limits,
    progress: Callable[[AuthoredDraft], None] = lambda _: None,
) -> AuthoringResult:
    """Let a model write a world until it is proved, the rounds are used up, or the model repeats itself.

    The same call on the same folder continues an interrupted one.

    Args:
        brief: The task.
        model: The model that writes.
        folder: The folder for drafts and their findings; the proved document is `world.yaml` in it.
        judge: Judges a document.
        progress: Called with each draft.

    Raises:
        InfrastructureError: the model could not be reached, or the judge failed. No draft is blamed or lost.
        ConfigError: the folder holds something else.
    """
    drafts = DraftFolder(folder, {"about": brief.about, "least": asdict(brief.least), "seed": brief.seed})
    author = _Author(brief, model, drafts, judge, progress)
    document, stopped, parts = "", "", 0
    while parts <= brief.extensions and not (stopped := author.write_part(parts, document)):
        document = drafts.text_of(author.last_of(parts))
        parts += 1
    world = folder / WORLD if parts else None
    if world is not None:
        write_file(world, document.encode())
    return AuthoringResult(world=world, extensions=max(0, parts - 1), drafts=tuple(drafts.drafts), stopped=stopped)


class _Author:
    """A model at work on the drafts of a folder."""

    def __init__(
        self,
        brief: AuthoringBrief,
        model: ChatModel,
        drafts: DraftFolder,
        judge: Judge,
        progress: Callable[[AuthoredDraft], None],
    ) -> None:
        self._brief = brief
        self._model = model
        self._drafts = drafts
        self._judge = judge
        self._progress = progress

    def last_of(self, part: int) -> AuthoredDraft:
        """The last draft of a part."""
        return [draft for draft in self._drafts.drafts if draft.part == part][-1]

    def write_part(self, part: int, document: str) -> str:
        """Request drafts of a part until one is proved; return why it stopped, or an empty text if one is proved.

        Args:
            part: 0 for the world, then the number of the extension.
            document: The document to extend.
        """
        while True:
            earlier = [draft for draft in self._drafts.drafts if draft.part == part]
            if earlier and earlier[-1].stage == "proved":
                return ""
            if stopped := _stop_reason(earlier, self._brief.rounds):
                return stopped
            answer = self._drafts.pending_answer()
            if answer is None:
                answer = self._ask(part, document, earlier)
                self._drafts.keep_answer(answer[: MAX_ANSWER + 1])
            self._progress(self._judge_answer(answer, part, document))

    def _ask(self, part: int, document: str, earlier: list[AuthoredDraft]) -> str:
        about = self._brief.about
        messages = ask_for_extension(about, document) if part else ask_for_world(about, self._brief.least)
        if earlier:
            last = earlier[-1]
            found = find_document(self._drafts.text_of(last, answer=True)).text
            written = found or self._drafts.text_of(last, answer=True)
            messages += ask_for_repair(written, last.stage, last.findings, whole=part == 0)
        seed = Stream.root("author", self._brief.seed).split("draft", self._drafts.next_number).below(2**31)
        try:
            return _complete(self._model, messages, seed)
        except InfrastructureError as error:
            raise type(error)(
                f"{error}; no draft was judged for it, {len(self._drafts.drafts)} are kept in {self._drafts.folder}, "
                "and the same command goes on from there"
            ) from error

    def _judge_answer(self, answer: str, part: int, document: str) -> AuthoredDraft:
        found = find_document(answer)
        name, judgement = "", Judgement(stage="answer", findings=(found.fault,))
        if found.text:
            try:
                text = merge_extension(document, found.text) if part else found.text
                name = self._drafts.name_of("yaml")
                judgement = self._judge(self._drafts.keep_document(text), self._brief.least)
            except BlueprintError as error:
                judgement = Judgement(stage="document", findings=tuple(str(error).split("\n")))
        findings = judgement.findings
        if found.fault and findings and found.fault not in findings:
            findings = (found.fault, *findings)
        draft = AuthoredDraft(
            number=self._drafts.next_number,
            part=part,
            stage=judgement.stage,
            findings=findings,
            digest=_content_digest(found.text or answer),
            document=name,
            answer=self._drafts.name_of("answer.txt"),
            summary=judgement.summary,
        )
        self._drafts.add(draft)
        return draft


def _stop_reason(earlier: list[AuthoredDraft], rounds: int) -> str:
    """Why no further draft is requested; empty if one is."""
    if earlier:
        last = earlier[-1]
        same = next((one for one in earlier[:-1] if one.digest == last.digest), None)
        if same is not None:
            return f"draft {last.number} says the same as draft {same.number}, so the model does not move on"
    return f"no further draft is allowed (rounds={rounds})" if len(earlier) >= rounds else ""


def _content_digest(text: str) -> str:
    """A digest of a document's content, independent of its notation; for other text, of its words."""
    try:
        return digest(read_plain(text, source="draft"))
    except BlueprintError:
        return digest(text.split())


def _complete(model: ChatModel, messages: list[Message], seed: int) -> str:
    """The model's answer.

    Raises:
        InfrastructureError: there is no answer; errors of the client never count as a bad draft.
    """
    try:
        answer = model.complete(messages, seed=seed)
    except InfrastructureError:
        raise
    except TimeoutError as error:
        raise WaitError(f"the model took too long: {error}") from error
    except ConnectionError as error:
        raise ServerError(f"the model could not be reached: {error}") from error
    except ValueError as error:
        raise ReplyError(f"what the model gave is no text: {error}") from error
    if not answer or not answer.strip():  # some clients give `None`
        raise ReplyError("the model's answer is empty; see whether the server is well")
    return answer
