"""What kind of clause each clause of a sentence is, by the first phrase that tells."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.envs.user.courtesies import APOLOGISE, CLOSE, NO_ACT, RHETORICAL
from palaestra.envs.user.fees import denies_fee, speaks_of_fee
from palaestra.envs.user.proposals import (
    OFFER_LEAD,
    OFFER_QUESTION,
    OFFER_STATEMENT,
)
from palaestra.envs.user.questions import question_mood
from palaestra.envs.user.refusals import LEADS_ON, REFUSE, WEAK_REFUSE
from palaestra.envs.user.requests import (
    ASK,
    ASKS_FRAGMENT,
    CONFIRM,
    IMPERATIVE_ASK,
    QUESTION_WORD,
    STATES,
    TAG,
    YES_NO,
)
from palaestra.envs.user.sentences import Sentence, words_in
from palaestra.envs.user.statements import is_bare_request, refusal_mood, request_mood
from palaestra.envs.user.vocabulary import reduce_clause

ClauseKind: TypeAlias = Literal[
    "ask", "confirm", "offer", "lead", "refuse", "weak", "close", "small-talk", "condition", "puzzle"
]
"""A dialogue act, or: an offer that only says what could be done ("lead"), a refusal that only says why not ("weak"),
what needs no answer, the condition of another clause, and a question that is not understood ("puzzle")."""

_CUT = re.compile(
    r",\s*(?=no (?:exceptions?|refunds?|returns?)\b)"
    r"|,\s*(?=(?:but|so|and|or|yet|which (?:is why|means|makes)|because|since|as|though|although|while|meaning"
    r"|however|otherwise|unless|not)\b)"
    r"|,\s*(?=(?:could|can|would|please(?= \w)|i|we|you|it|that|this|the|your|there|thank|thanks|may|shall|should"
    r"|do|does|did|is|are|let|tell|what|which|how|where|who|when|what|if|in|kindly|just|sorry|have|"
    r"apologies|unfortunately|goodbye|bye|take|enjoy)\b)"
    r"|\s(?=but (?!also|not)\b)|\s(?=(?:because|although|though|whereas) )|\s(?=so (?:i|we|you|it|that|please"
    r"|could|can|what|which|the|there|goodbye)\b)"
    r"|\s(?=and (?:i|we|it|could|can|please|would|what|which|how|goodbye|bye|have a|enjoy|thank|take care|tell"
    r"|let|describe|explain|name|say|send|give|state|do|is|are|all the best|hope|wish|kindly|therefore|so"
    r"|unfortunately)\b)"
    r"|,\s*(?=ord-\d+ (?:is|has|was|will)\b)|(?<=regret)\s(?=that (?:no|we can|i can|we will|i will)\b)"
    r"|(?<=sorry to say)[,:]?\s|(?<=sorry),\s(?=no \w)|(?<=apologies),\s(?=no \w)"
    r"|:\s+(?=(?:your|our|my|which|what|how|where|who|could|can|would|please|may|is|are|do|does|did|i|we|you"
    r"|the|a|no|it|shall|should|there)\b)"
    r"|\s(?=which (?:is why|means)\b)|\s(?=meaning\b)"
)
_IF = re.compile(
    r"^(?:(?:and|but|so|or|otherwise|then)[,:]? )*(?:if|should|in case|unless|once|when|whenever"
    r"|as soon as|before|until|so that|in order|since|as|because|though|although|while|to)\b"
)
_TAGGED = re.compile(r"\b(?:you|your|it|that|this|the|so|order|ord-\d+|i|we|there|and|an?|one|\w+)\b")
_POINTS_BACK = re.compile(
    r"\b(?:which (?:one|of (?:them|these|those|the two|the three|both|your))|the (?:right |correct |exact )?one"
    r"|which|one of them|of them|of these|of those|the one|the first|the other|either of|them"
    r"|each)\b(?! (?:is why|means))"
)
_FAULTY = re.compile(
    r"\b(?:not (?:start|turn|work|charge|boot|power|switch|connect|respond)|start|turn on|switch on|boot|charge"
    r"|hot|overheat\w*|nois[ey]\w*|light|lights|blink\w*|screen|crack\w*|leak\w*|smell\w*|smoke|sound|"
    r"flicker\w*|crash\w*|freez\w*|freeze|broken|damag\w*|dead|scratch\w*|loose|stuck|stop\w*|react\w*"
    r"|shut\w* (?:down|off)|power|beep\w*|show|plugged|display)\b"
)
_PLEADS = re.compile(r"\b(?:please|kindly|could you|can you|would you|may i|i need|we need|let me know|let us know)\b")
_CHOICE = re.compile(
    r"\b(?:prefer|rather|choose|like better|like best|suits?|go for|opt for|option)\b|\b(?:how|what) about\b"
    r"|why (?:do not|not)\b"
    r"|what (?:do you think|would you say|if)\b"
)
_OFFERING_TAG = re.compile(
    r"(?:,|;|:|\bthen|\bso) ?(?:okay|all right|deal|agreed|fine|good|is that (?:okay|fine|all right)"
    r"|okay (?:with|for) you|would that be (?:okay|fine)|does that (?:work|suit)|sound good)(?: (?:for|with|to) you)?$"
)
_SUITS = re.compile(r"\b(?:all right|okay|fine|acceptable) (?:with|for|by|to) you\b")
_LITTLE = frozenset({"and", "or", "the", "a", "an", "your", "our", "so", "also", "then", "any", "what", "about"})
_NOTHING = re.compile(
    r"\b(?:nothing|no (?:further|more)|not)\b.*\b(?:needed|required|missing|necessary|lacking"
    r"|unclear)\b"
)
_IS_RELATIVE = re.compile(
    r"^(?:who|whose|where|which(?= (?:in|is(?! why)|was|has|have|will|would|means?|can|may|you (?:have|can|may"
    r"|will|paid)|we|i|amounts|comes|makes|costs|goes|should|must|takes|(?!of|is|one)\w+s)\b(?! it\b))|(?:for|to"
    r"|from|of|in|on|with|by) (?:which|whom|whose))\b(?! (?:do|did|are|is it|was it|should|shall|would you|can i)\b)"
)
"""Goes on about something that the clause before names: "a colleague, who will write"."""
_AIM = re.compile(r"^(?:and |but )?(?:so that|before|once|until|as soon as|in order|only then)\b")
_WORD_AND = re.compile(r"^(?:just |please |simply )*say (?:yes|so|the word|okay)$")
"""Asks for agreement to what the next clause says."""
_BARE_REQUEST = re.compile(
    r"^(?:please |just |do |so |and |then )*(?:tell me|let (?:me|us) know|say|between [\w-]+ and [\w-]+)$"
)
"""Asks for what the next clause names."""
_NAMES_CHOICE = re.compile(r"^(?:is it |was it )?(?:the|a|an|its|your) [\w-]+(?: [\w-]+)? or (?:the|a|an|its|your) ")
"""Names the things between which a question before it asks to choose."""
_BARE_LIST = re.compile(r"^(?:or |and )*(?:the|an?|your)? ?[\w-]+(?: (?:or|and) (?:the |an? |your )?[\w-]+)?$")
"""Goes on with the things that the clause before it lists."""
_RELATIVE = re.compile(
    r"^(?:and |but |so )?(?:what|all|the (?:only|one|least|best|most) (?:thing )?)(?: (?:that )?)(?:(i|we) (?:can"
    r"|could|may|might|would|am|are)\b"
    r"|you (?:do |can |will |would )?(?:have|get|receive)|it (?:means|says|shows))\b(?!.*\b(?:need|know"
    r"|missing)\b).*\b(?:is|are|be)\b"
)
"""Begins like a question and states something: "What we can do is ..."."""
_DECLINES = re.compile(r"\b(?:must|have to|need to) (?:decline|refuse|reject|turn|say no|deny|disappoint)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause of a sentence, in lower case."""

    text: str
    kind: ClauseKind | None
    """`None` for a statement that does nothing but tell."""
    points: bool = False
    """Whether it asks which of several: "Which one?"."""
    formless: bool = False
    """Whether it is a question by its mark alone."""
    elliptic: bool = False
    """Whether it is so short that it must be about what was said before: "Is that right?"."""


def clauses_of(sentence: Sentence) -> list[Clause]:
    """The clauses of a sentence with their kinds."""
    whole = sentence.text
    if (closing := _is_closing(whole, asks=sentence.asks)) and not _has_deed(whole, asks=sentence.asks):
        return [Clause(text=whole, kind="close")]
    tag = _tag_kind(whole) if sentence.asks or _ends_in_tag(whole) else None
    if tag == "confirm" and words_in(untagged := TAG.sub("", whole)):
        whole = untagged
    parts = [part.strip(" ,:") for part in _CUT.split(whole)]
    parts = _join_fragments([part for part in parts if words_in(part)], asks=sentence.asks)
    kinds: list[ClauseKind | None] = [
        _kind(
            part,
            asks=sentence.asks and tag != "confirm" and number == len(parts) - 1,
            tagged=tag is not None,
            alone=len(parts) == 1,
        )
        for number, part in enumerate(parts)
    ]
    if sentence.asks and len(parts) > 1 and parts[-1].startswith("or "):
        kinds = [
            "ask" if YES_NO.match(part) and kind in (None, "confirm") else kind
            for part, kind in zip(parts, kinds, strict=True)
        ]
    if kinds[0] == "ask" and whole.removeprefix(parts[0]).startswith(":"):
        kinds = [kind or "ask" for kind in kinds]
    if tag is not None:
        kinds = _apply_tag(kinds, tag)
    if closing and "close" not in kinds and kinds[-1] not in ("ask", "confirm", "refuse", "offer"):
        kinds[-1] = "close"
    kinds = _resolve_kinds(parts, kinds)
    formless = sentence.asks and tag is None and _phrase_kind(parts[-1], asks=True) is None
    formless = formless and question_mood(parts[-1]) is None
    earlier: list[ClauseKind | None] = [kind for kind in kinds[:-1] if kind in ("ask", "confirm", "offer")]
    if formless and earlier and not YES_NO.match(parts[-1]):
        kinds[-1] = earlier[-1]
    return [
        Clause(
            formless=formless and number == len(parts) - 1,
            text=part,
            kind=kind,
            points=kind in ("ask", "confirm") and bool(_POINTS_BACK.search(part)),
            elliptic=len(words_in(part)) <= 6,
        )
        for number, (part, kind) in enumerate(zip(parts, kinds, strict=True))
    ]


def _join_fragments(parts: list[str], *, asks: bool) -> list[str]:
    """The clauses of a sentence; what only leads to a clause or only lists things belongs to its neighbour."""
    joined: list[str] = []
    for part in parts:
        if joined and (not reduce_clause(joined[-1] + ",") or _BARE_REQUEST.match(joined[-1])):
            joined[-1] = f"{joined[-1]}, {part}"
        elif joined and _IS_RELATIVE.match(part) and not asks:
            joined[-1] = f"{joined[-1]} {part}"
        elif joined and (not reduce_clause(part) or (_BARE_LIST.match(part) and YES_NO.match(joined[-1]))):
            joined[-1] = f"{joined[-1]}, {part}"
        else:
            joined.append(part)
    return joined


def _is_closing(text: str, *, asks: bool) -> bool:
    return RHETORICAL.found_in(text) if asks else CLOSE.found_in(text)


def _has_deed(text: str, *, asks: bool) -> bool:
    """Whether a sentence that closes does something else as well."""
    if asks:
        return False
    return REFUSE.found_in(text) or OFFER_STATEMENT.found_in(text) or " and " in text or "," in text


def _ends_in_tag(text: str) -> bool:
    return bool(re.search(r", (?:right|correct|yes|or not|is that right|okay)$", text))


def _tag_kind(text: str) -> ClauseKind | None:
    """What a tag at the end of a statement makes of it: "..., right?" checks it, "..., okay?" offers it."""
    if _OFFERING_TAG.search(text):
        return "offer"
    if (
        TAG.search(text)
        and reduce_clause(TAG.sub("", text) + ",")
        and not QUESTION_WORD.match(text)
        and len(words_in(text)) > 1
        and not YES_NO.match(text)
    ):
        return "confirm"
    return None


def _apply_tag(kinds: list[ClauseKind | None], tag: ClauseKind) -> list[ClauseKind | None]:
    """A tag turns the statements before it into what it asks."""
    return [tag if kind in (None, "lead", "puzzle", "weak", tag, "small-talk") else kind for kind in kinds]


def _kind(text: str, *, asks: bool, tagged: bool, alone: bool) -> ClauseKind | None:
    mood = question_mood(text) if asks and not tagged else None
    if mood is not None:
        return mood
    if not alone and _WORD_AND.match(text):
        return "offer"
    requested = None if asks else request_mood(text)
    if requested == "offer" and not CLOSE.found_in(text):
        return "offer"
    if not asks and is_bare_request(text):
        return "small-talk"
    kind = _phrase_kind(text, asks=asks)
    if kind is not None or requested is not None:
        return kind or requested
    if asks and not tagged:
        return _question(text, alone=alone)
    if APOLOGISE.found_in(text) or (speaks_of_fee(text) and not denies_fee(text)):
        return None
    if refusal_mood(text):
        return "refuse"
    if OFFER_LEAD.found_in(text) and not _AIM.match(text):
        return "lead"
    if WEAK_REFUSE.found_in(text):
        return "weak"
    return None


def _phrase_kind(text: str, *, asks: bool) -> ClauseKind | None:
    """The kind of a clause by the phrases that tell it; `None` where there is none."""
    if NO_ACT.match(text) and not asks and not _PLEADS.search(text, 1):
        return "small-talk"
    if _is_closing(text, asks=asks):
        return "close"
    if not asks and (relative := _RELATIVE.match(text)):
        return "lead" if relative.group(1) else None
    question = QUESTION_WORD.search(text)
    if question and (asks or (question.start() == 0 and not STATES.search(text) and not REFUSE.found_in(text))):
        return "offer" if asks and _CHOICE.search(text) else "ask"
    if REFUSE.found_in(text) and not asks:
        requests = ASK.found_in(text) and not _DECLINES.search(text)
        if requests or LEADS_ON.found_in(text):
            return "ask" if requests else None
        if denies_fee(text):
            return None
        return "refuse"
    if OFFER_STATEMENT.found_in(text):
        return "offer"
    offers = OFFER_QUESTION.found_in(text)
    if offers and (asks or not ASK.found_in(text)) and not CONFIRM.found_in(text):
        return "offer"
    if CONFIRM.found_in(text) and not (offers and _SUITS.search(text)):
        return "confirm"
    if offers:
        return "offer"
    if "no" in text and _NOTHING.search(text):
        return None
    if (
        (question and not STATES.search(text))
        or ASK.found_in(text)
        or IMPERATIVE_ASK.search(text)
        or ASKS_FRAGMENT.search(text)
    ):
        return "ask"
    return None


def _question(text: str, *, alone: bool) -> ClauseKind:
    """A question without a phrase that tells: its form decides."""
    form = YES_NO.match(text)
    if form is None:
        words = [word for word in words_in(text) if word not in _LITTLE]
        if " or " in text:
            return "ask"
        short = alone and len(words) <= 2 and not re.search(r"\d", text)
        return "ask" if short or text.startswith("any ") else "confirm"
    if (
        _FAULTY.search(text)
        or (" or " in text and "or not" not in text)
        or form.group(1) not in ("is", "are", "was", "were", "am")
    ):
        return "ask"
    return "confirm"


def _resolve_kinds(parts: list[str], kinds: list[ClauseKind | None]) -> list[ClauseKind | None]:
    """The kinds of the clauses of one sentence, each seen beside the others."""
    joined = list(kinds)
    for number, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        if kind == "offer" and "ask" in kinds[:number] and _NAMES_CHOICE.match(part):
            joined[number] = None
    kinds = list(joined)
    for number, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
        others = {k for i, k in enumerate(kinds) if i != number}
        if kind == "offer" and _IF.match(part) and ({"refuse", "ask", "confirm"} & others):
            joined[number] = None
        follows = parts[number + 1] if number + 1 < len(parts) else ""
        if kind == "lead" and follows.startswith("but") and kinds[number + 1] == "refuse":
            joined[number] = None
        if kind == "confirm" and part.startswith("to ") and "ask" in others:
            joined[number] = None
        if kind == "refuse" and _IF.match(part) and "ask" in others:
            joined[number] = None
    return joined
