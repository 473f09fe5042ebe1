"""One message on its way in: what each sentence does, given what the sentences before it spoke of."""

import re
from collections.abc import Sequence

from palaestra.envs.user.asked_topics import topics_by_form
from palaestra.envs.user.clauses import Clause, clauses_of
from palaestra.envs.user.courtesies import APOLOGISE
from palaestra.envs.user.fees import denies_fee, names_fee, speaks_of_fee, states_fee
from palaestra.envs.user.questions import is_check_tag
from palaestra.envs.user.requests import BOTH, YES_NO
from palaestra.envs.user.sentences import Sentence, words_in
from palaestra.envs.user.topics import Lexicon, Spot

LONG_CHECK = 9
"""From more words than this on, a request to check that names no topic is about one that is not known."""
STUFFED_TOPICS = 3
"""From this many topics on, a sentence that holds little else is a list of keywords."""
THINGS = frozenset({"order", "product", "account", "quantity", "fault", "address"})
"""Topics that are things and not dealings: an offer or a refusal is about them only where it names nothing else."""

DEEDS = ("ask", "confirm", "offer", "refuse")
_INSTEAD_OF = re.compile(
    r"\b(?:instead of|rather than|in place of|and not|not just|as opposed to|(?<=, )not) (?:an? |the "
    r"|your )?[\w-]+(?: of (?=address)\w+)?"
)
_IDIOM = re.compile(
    r"\b(?:(?:piece|bit)s? of (?:information|advice|news|data)|(?:typing|spelling|clerical|copying) (?:error"
    r"|mistake)s?|(?:for|on) (?:my|our|your) part"
    r"|part of (?:it|this|that|the (?:reason|problem|process))|in part|an? error on our|(?:error|problem) of ours"
    r"|thing is|one thing|things up|the whole thing|first thing|a thing"
    r"|(?:tele)?phone number|(?:serial|number) plate|by mistake|in order(?= to\b|$)|no problem)\b"
)
"""Phrases with a word that names a topic elsewhere."""
_RIVALS = ("instead of", "rather than", "in place of", "not ", "opposed")
_WHERE = re.compile(r"^(?:(?:and|so|but) )*(?:where|whose|how many)\b")
"""Asks for something of which the reader must know the kind."""
_HOW = re.compile(
    r"^(?:(?:and|so|but|or) )*(?:how(?! many)|why|what (?:is|was|seems|makes|made|happen\w*|does|did|caused)"
    r"|in what way)\b"
)
_WHICH = re.compile(r"\b(?:which|what|where|who|how)\b")
_CHOICE = re.compile(r"\b(?:which|either|both|one|ones|whichever|rather|prefer)\b")
"""Offers a choice between the dealings that were named before."""
_PART = re.compile(r",| and (?=(?:the|your|which|what|how|where|its|also|if) )|\bas well as\b|\bplus\b|&|/")
"""What parts two questions in one clause; of what one of them names, the first is what it is about."""
_POINTS = re.compile(
    r"\b(?:it|that|this|one|ones|these|those|them|either|so|such|same|there|both|which|number|again)\b"
)
_DONE_DEEDS = re.compile(r"\b\w{3,} \w+ed\b")
DONE = re.compile(r"^\W*\w+ed\W*$")
_STARTS_WITH_IT = re.compile(r"^(?:it|they|this|that|these|those)\b")
_ORDERS = re.compile(
    r"^(?:please|kindly|could|can|would) (?!note|be (?:assured|aware|advised)|find|see|rest"
    r"|know|remember|keep|allow|give|wait|do not|understand|accept|bear|consider|ignore)"
)
_OPEN_QUESTION = re.compile(
    r"\b(?:proceed|in mind|which|go on|go ahead|do (?:now|next|about|for you)|do|want|like|prefer|information"
    r"|details?|more|anything|something|mean|meant|happened|help|that|this|it|one|ones|first|notice\w*|when|why|"
    r"explain|elaborat\w*|clarify|specify|question|exactly|tell|need|wrong|need from you|assist|rephrase|photos?"
    r"|pictures?|receipt)\b"
)
"""A question that may be about nothing in particular."""
_WISHES = re.compile(
    r"^(?!.*\b(?:which|what|who|where|how|that you)\b).*\b(?:want|like|wish|prefer|decided|asked|mean"
    r"|meant|going) to\b|\b(?:want|like|wish)\b.*\b(?:cancelled|canceled|returned|replaced|repaired|exchanged"
    r"|refunded)\b"
    r"|(?:^|: |, )(?:cancel|return|repair|replace|exchange|refund)\b"
)
"""Says what the reader wants to do; the dealing is then what a question is about."""
_OTHER_THAN_FEE = frozenset({"replacement", "repair", "exchange", "cancellation", "address"})


class Listener:
    """One message on its way in, sentence by sentence."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._before: Sequence[Spot] = ()
        """What the last sentence that named something named."""
        self._listing: str | None = None
        """What is done with the items of the list that is being read."""
        self.acts: list[str] = []
        self.leads: list[str] = []
        """Offers that only say what the agent could do."""
        self.weak: list[str] = []
        """Refusals that only say why not."""
        self._fee_told = False
        """Whether a fee was told of, and not denied."""
        self.small_talk = False
        """Whether something was said that needs no answer."""
        self.puzzled = False
        """Whether a question was not understood."""

    def hear(self, sentence: Sentence) -> None:
        """Add what a sentence does."""
        spots = self._lexicon.spots(_without_rivals(sentence.text))
        if sentence.signs:
            self.small_talk = True
            return
        if self._listing is not None and self._is_listed(sentence, spots):
            return
        if is_stuffed(sentence.text, spots) and not sentence.asks and "please" not in sentence.text:
            if DONE.match(sentence.text) or tells_deeds(sentence.text):
                self._tell(sentence.text, spots)
            return
        sorry = APOLOGISE.found_in(sentence.text)
        if sorry:
            self._add("apologise")
        clauses = clauses_of(sentence)
        named = [self._lexicon.spots(_without_rivals(clause.text)) for clause in clauses]
        plain = [
            spot
            for clause, spots_ in zip(clauses, named, strict=True)
            if clause.kind in (None, "weak")
            for spot in spots_
        ]
        closes = any(clause.kind == "close" for clause in clauses)
        told = False
        for clause, spots_ in zip(clauses, named, strict=True):
            if clause.kind == "puzzle":
                self.puzzled = True
            elif clause.kind in ("small-talk", "condition"):
                self.small_talk = True
            elif clause.kind == "close":
                self._add("close")
            elif clause.kind is not None:
                self._deed(clause, spots_, plain)
            elif not spots_ and not denies_fee(clause.text) and (sorry or closes):
                self.small_talk = True
            elif not sorry or (len(words_in(clause.text)) > 2 and not APOLOGISE.found_in(clause.text)):
                told = self._tell(clause.text, spots_) or told
        if any(clause.kind != "small-talk" and (speaks_of_fee(clause.text)) for clause in clauses):
            self._fee(sentence, clauses)
        if spots:
            self._before = spots
        asked = [clause.kind for clause in clauses if clause.kind in ("ask", "confirm")]
        self._listing = asked[-1] if sentence.lists and asked else None

    def _is_listed(self, sentence: Sentence, spots: Sequence[Spot]) -> bool:
        """Whether a line is an item of a list of things asked for; it is then added."""
        if any(clause.kind not in (None, "weak", "lead") for clause in clauses_of(sentence)):
            self._listing = None
            return False
        if spots:
            self._add(f"{self._listing}:{_head(spots)}")
        return True

    def _add(self, act: str) -> None:
        self.acts.append(act)

    def _fee(self, sentence: Sentence, clauses: list[Clause]) -> None:
        """A fee is news wherever it is stated."""
        for clause in clauses:
            refused = clause.kind == "refuse" and not states_fee(clause.text)
            asked = clause.kind in ("ask", "confirm") or (clause.kind == "offer" and not states_fee(clause.text))
            apologetic = APOLOGISE.found_in(clause.text) and not states_fee(clause.text)
            free = denies_fee(clause.text) and not names_fee(clause.text) and self._deals(sentence.text)
            if (
                clause.kind != "small-talk"
                and speaks_of_fee(clause.text)
                and not (refused or asked or apologetic or free)
            ):
                self._add("inform:fee")
                self._fee_told = self._fee_told or not denies_fee(clause.text)

    def _deals(self, text: str) -> bool:
        return any(spot.topic in _OTHER_THAN_FEE for spot in self._lexicon.spots(text))

    def _tell(self, text: str, spots: Sequence[Spot]) -> bool:
        """News: of every topic named."""
        topics = list(dict.fromkeys(spot.topic for spot in spots))
        if "fee" not in topics and denies_fee(text) and not _OTHER_THAN_FEE & {*topics}:
            topics.append("fee")
        for topic in topics:
            self._add(f"inform:{topic}")
        if not topics and _ORDERS.match(text):
            self.puzzled = True
        elif not topics:
            pointed = _antecedent(self._before) if _STARTS_WITH_IT.match(text) else ""
            self._add(f"inform:{pointed}" if pointed else "inform")
        return True

    def _deed(self, clause: Clause, spots: Sequence[Spot], plain: Sequence[Spot]) -> None:
        kind = clause.kind
        topics = (self._topics_of_question if kind in ("ask", "confirm") else self._topics_of_deal)(
            clause, spots, plain
        )
        if (
            clause.kind == "confirm"
            and is_check_tag(clause.text)
            and (self.leads or any(act.startswith("offer") for act in self.acts))
        ):
            return
        if clause.formless and not spots and any(act.partition(":")[0] in DEEDS for act in self.acts):
            return
        if not topics and self._is_puzzling(clause):
            self.puzzled = True
        name = {"lead": "offer", "weak": "refuse"}.get(str(kind), str(kind))
        acts = [f"{name}:{topic}" for topic in topics] or [name]
        if kind == "lead":
            self.leads += acts
        elif kind == "weak":
            self.weak += acts
        else:
            self.acts += acts

    def _is_puzzling(self, clause: Clause) -> bool:
        """Whether a question about nothing that the reader knows must be about something that they do not know."""
        if clause.kind == "ask" and _WHERE.match(clause.text):
            return True
        if clause.kind == "ask":
            return not _OPEN_QUESTION.search(clause.text)
        if clause.kind == "confirm":
            return (
                clause.formless
                or (clause.elliptic and self.acts[-1:] == ["inform"])
                or len(words_in(clause.text)) > LONG_CHECK
            )
        return False

    def _topics_of_question(self, clause: Clause, spots: Sequence[Spot], plain: Sequence[Spot]) -> list[str]:
        """What a question is about: first in each of its parts, or what it points back to."""
        text = _without_rivals(clause.text)
        if asked := topics_by_form(text, spots, kind=str(clause.kind)):
            return asked
        if clause.kind == "confirm" and BOTH.search(text) and not spots:
            return list(dict.fromkeys(spot.topic for spot in (plain or self._before)))
        if clause.points and not (spots and spots[0].topic in THINGS and spots[0].topic != "fault"):
            pointed = _antecedent(plain) or _antecedent(self._before)
            if pointed:
                return [pointed]
        if clause.kind == "ask" and _HOW.match(text) and "fault" in {spot.topic for spot in spots}:
            return ["fault"]
        if (
            clause.kind == "ask"
            and YES_NO.match(text)
            and not _WHICH.search(text)
            and any(spot.topic == "fault" for spot in spots)
        ):
            return ["fault"]
        parts, start = list[str](), 0
        for cut in [*(m.start() for m in _PART.finditer(text)), len(text)]:
            inside = [spot for spot in spots if start <= spot.start < cut]
            if inside:
                parts.append(_head(inside, wishes=bool(_WISHES.search(text))))
            start = cut
        if parts:
            return list(dict.fromkeys(parts))
        if clause.kind == "confirm" and plain and plain[0].topic in _OTHER_THAN_FEE - {"address"} | {"return"}:
            return [plain[0].topic]
        pointed = _antecedent(plain) or (_antecedent(self._before) if clause.elliptic or _POINTS.search(text) else "")
        return [pointed] if pointed else []

    def _topics_of_deal(self, clause: Clause, spots: Sequence[Spot], plain: Sequence[Spot]) -> list[str]:
        """What an offer or a refusal is about: dealings before things, and things before nothing."""
        nothing: Sequence[Spot] = ()
        if clause.kind == "offer" and states_fee(clause.text):
            return ["fee"]
        if clause.kind == "refuse" and not spots and any(spot.topic == "address" for spot in plain):
            return ["address"]
        for named in (
            spots,
            plain if clause.kind != "refuse" or not spots else nothing,
            self._before if clause.elliptic or _POINTS.search(clause.text) else nothing,
        ):
            dealings = list(dict.fromkeys(spot.topic for spot in named if spot.topic not in THINGS))
            if named is not spots and self._fee_told and clause.kind == "offer":
                return ["fee"]
            if named is not spots and clause.kind == "offer":
                if any(act.startswith("offer:") for act in (*self.acts, *self.leads)) and not _CHOICE.search(
                    clause.text
                ):
                    return []
                if "fee" in dealings:
                    return ["fee"]
                dealings = [topic for topic in dealings if f"refuse:{topic}" not in self.acts]
            if (
                dealings
                and clause.kind == "refuse"
                and " nor " in clause.text
                and any(spot.topic == "address" for spot in named)
            ):
                return list(dict.fromkeys([*dealings, "address"]))[:2]
            if dealings:
                return dealings[:3] if named is spots or _CHOICE.search(clause.text) else dealings[:1]
            if named is spots:
                address = [s.topic for s in named if s.topic in ("address", "account")]
                if address:
                    return address[:1]
        things = list(dict.fromkeys(spot.topic for spot in spots))
        return things[:1] if clause.kind != "offer" or not clause.elliptic else []


def _without_rivals(text: str) -> str:
    """A text without what it says something else is in place of."""
    text = _IDIOM.sub("", text)
    return _INSTEAD_OF.sub("", text) if any(part in text for part in _RIVALS) else text


def tells_deeds(text: str) -> bool:
    """Whether a text without a full verb tells of deeds: "Order cancelled, money refunded"."""
    return len(_DONE_DEEDS.findall(text)) > 1


def is_stuffed(text: str, spots: Sequence[Spot]) -> bool:
    """Whether a text is a list of keywords: many topics and little else, or one and nothing else."""
    words = len(words_in(text))
    naming = sum(len(words_in(text[spot.start : spot.end])) for spot in spots)
    topics = len({spot.topic for spot in spots})
    return naming >= words if topics < STUFFED_TOPICS else 2 * naming > words


def _head(spots: Sequence[Spot], *, wishes: bool = False) -> str:
    """What a part of a question is about: the first thing that it names, or else the first dealing."""
    for spot in spots:
        if spot.topic in ("account", "quantity"):
            return spot.topic
    dealings = [spot.topic for spot in spots if spot.topic not in THINGS]
    if wishes and dealings:
        return dealings[0]
    if len(spots) > 1 and spots[0].topic == "fault" and spots[1].start == spots[0].end + 1:
        return spots[1].topic
    things = [spot.topic for spot in spots if spot.topic in THINGS]
    return (things or [spot.topic for spot in spots])[0]


def _antecedent(spots: Sequence[Spot]) -> str:
    """What "which one" points to: what there are several of, or else the first thing that is no account."""
    several = [spot.topic for spot in spots if spot.several and spot.topic in THINGS]
    if not several and sum(spot.topic == "product" for spot in spots) > 1:
        return "product"
    things = [spot.topic for spot in spots if spot.topic in THINGS and spot.topic != "account"]
    return next(iter([*several, *things, *(spot.topic for spot in spots)]), "")
