"""What a statement or an order asks for by its form, and what it denies.

"Could you TELL", "I'd be grateful if you TELL" and "TELL me" ask; the same forms with CHECK ask to check; where they
ask whether the reader agrees, they offer. A statement of no known form does nothing but tell.
"""

import re
from typing import Literal, TypeAlias

from palaestra.envs.user.vocabulary import ACCEPT, CHECK, FINE, INFO, REQUEST, TELL, WH, reduce_clause

Mood: TypeAlias = Literal["ask", "confirm", "offer", "close"]
"""What a clause does by its form."""

AGREES = re.compile(
    rf"\b(?:you (?:\w+ )?(?:{ACCEPT}|are (?:\w+ )?{FINE}|would be {FINE})|{FINE} (?:with|for|by|to) you|(?:that"
    rf"|this|it|which)"
    rf" (?:\w+ )?(?:{FINE}|works|suits)|i (?:may|should|can)|we (?:may|should|can)|(?:your|an?) (?:okay|agreement"
    rf"|consent"
    rf"|approval)|to (?:proceed|go ahead)|in agreement|acceptable|yes or no)\b"
)
_WHETHER_AGREED = re.compile(
    rf"\b(?:{TELL}|{CHECK})(?: (?:to|with))?(?: (?:me|us))?(?: know| a (?:note|line|word|nod|shout"
    rf"|quick \w+))?,? ?(?:if|whether|that)?\b.*?" + AGREES.pattern
)
"""Asks to be told whether the reader agrees."""
_IF_THEN = re.compile(
    rf"\b(?:{TELL}|{CHECK})(?: \w+){{0,5}}?,? (?:if|whether|that)\b(?! (?:the|your) (?:error|fault|problem"
    rf"|address|order|product))"
)
TELL_ME = re.compile(
    rf"^(?:do )?(?:{TELL})\b(?! (?:you\b|(?:the|your|it|this|that|them)(?: \w+)? back\b|yes|okay|agree))"
)
CHECK_IT = re.compile(rf"^(?:do )?(?:{CHECK})\b")
_YOU_TELL = re.compile(
    rf"\b{REQUEST}\b(?: \w+){{0,5}}? you(?: to| could| can| would| will| might| did| both| please)*\b (?:{TELL})\b"
)
_YOU_CHECK = re.compile(
    rf"\b{REQUEST}\b(?: \w+){{0,5}}? you(?: to| could| can| would| will| might| did| please)* (?:\w+ )?(?:{CHECK})\b"
    rf"|\b(?:perhaps |maybe )?you (?:could|might|may|should|had better)(?: want to)? (?:{CHECK})\b"
)
_TELLING_HELPS = re.compile(
    r"\b(?:tell|telling|knowing|having|hearing|seeing|sending|a|an|the|your)\b(?: \w+){0,7}? (?:would"
    r"|will)(?: \w+)? (?:be (?:great"
    r"|helpful|good|useful|nice|lovely|perfect|appreciated|needed|enough|ideal|fine|of help)|help|do|suffice|speed"
    r"|make)\b"
)
_WANTS_INFO = re.compile(
    rf"\b(?:(?<!not )(?<!no )(?<!nothing )(?:need|needs|missing|lack|lacks|lacking|require|knew|want|wants|wish"
    rf"|after|would like"
    rf"|would love|looking for|waiting for|short of|without|must have|must know|have to have|have to know|if (?:i"
    rf"|we) (?:had|knew|could have))"
    rf" (?:to (?:know|hear|see|have|learn|understand) )?(?:about )?(?:the|your|its|a|an|one|some|more|only|two"
    rf"|which|what|where|how"
    rf"|who|when|whether|for)\b(?: \w+){{0,3}}?(?:(?<=which)|(?<=what)|(?<=where)|(?<=how)|(?<=who)|(?<=when)"
    rf"|(?<=whether)"
    rf"| {INFO}s?)(?! (?:is|has|was|will) )\b)"
)
_IF_AGREED = re.compile(
    rf"\b(?:if|should|in case|provided|whenever|as soon as|so long as|as long as)\b(?: [\w'-]+){{0,7}}? (?:suits?"
    rf"|works|appeals?|is {FINE}|{FINE} (?:to|with|by|for)"
    r" you|(?:is )?what you(?: would)? (?:like|want|prefer)|you (?:are )?in agreement)\b(?! again| fine now)"
)
_UNCLEAR = re.compile(
    r"\b(?:(?:not|nor|never|no|hardly|difficult|hard|impossible|forgot|without)\b(?: [\w'-]+){0,3}? (?:clear|sure"
    r"|certain|obvious|know|see|tell|idea|say|said"
    r"|saying|state|stated|mention|mentioned|told|specify|make out|work out|apparent)|unclear|unsure|uncertain"
    r"|wonder\w*|curious|question is|puzzle\w*)"
    rf"(?: (?:to|for|from|about|me|us|your|mail|message|here|out|yet|of|on|is)){{0,4}} {WH}\b"
)
"""Says that the writer does not know which, what or where."""
_AWAITS = re.compile(
    rf"\b(?:once|as soon as|when|after|until|unless|before) (?:you|i|we)(?: have| had)? (?:sent?|given?|tell|told"
    rf"|provided?|have|know|knew|hear|heard|get|got"
    rf"|received?|named?|stated?)(?: (?:me|us))?(?: (?:the|your|a|an|which|what|where))(?: \w+){{0,2}}? {INFO}s?\b"
)
"""Waits for something that only the reader can tell."""
_WHICHEVER = re.compile(
    r"\b(?:whichever|whatever)(?: one| option| of them| way)? (?:you (?:like|prefer|want|choose|fancy)|suits?)\b"
)
_PAUSE = re.compile(
    r"^(?:give|allow|grant|spare)(?: (?:me|us))? (?:a|an|some|two|one|the|another)? ?(?:moment|minute|hour|day"
    r"|second|bit|while|time|few)s?\b"
    r"|^one (?:moment|second|minute)\b|^just a (?:moment|second|minute)\b|^(?:a )?(?:moment|second|minute)$"
)
_NOT_A_REQUEST = re.compile(
    r"^(?:give|let|tell|say|allow|grant|spare)(?: (?:me|us))? (?:a|an|some|two|one|the|another)? ?(?:moment|minute"
    r"|hour|day|second|bit|while|time|few)s?\b"
    r"|^(?:write|say|answer|reply|type|respond)(?: with)? [\"']?(?:yes|i (?:accept|agree)|okay|agree)"
    r"|\byou to say so\b|^do not\b"
    r"|^(?:i|we) have asked\b|^(?:tell|let) (?:me|us)(?: know)?$|\bi will (?:tell|let) you\b"
)


_NEGATED_GRANT = re.compile(
    r"\b(?<!has )(?<!have )(?<!had )(?<!was )(?<!were )(?<!did )(?<!only if )(?<!need )(?:not|no|never|nobody"
    r"|neither|nor|unable to|impossible|no longer|too late|beyond"
    r"|ruled out|hardly|nothing)\b(?! (?:need|yet|only|just|have to|want|fee|charge|deduction|know|see|find|sure"
    r"|longer on|wrong))(?: [\w'-]+){0,5}? (?:changed?"
    r"|chang(?:e|ing)|refund\w*|(?:pay|give|take|get|have|accept|send|hand)(?:ing)? (?:\w+ ){1,3}back|returns?"
    r"|returned|cancel\w*|replac\w*|exchang\w*|swap\w*"
    r"|repair\w*|mend\w*|switch (?:the|your|its|to)|halt\w*|have it back|extend\w*|lower\w*|fix(?:ed)?"
    r"|redirect\w*|rerout\w*|waiv\w*|accept\w*|poss?ible|help|exceptions?|approv\w*|grant\w*"
    r"|honou?r\w*|undo(?:ne)?|stop(?:ped)?"
    r"|permitted|allow\w*|eligible|entitled|reimburs\w*|amend\w*|alter\w*|revers\w*|recall\w*|intercept\w*"
    r"|go back on|budge|negotiable|on the cards|comply"
    r"|compensat\w*|bend|tell you|comment|agree to|do anything|do much|do that|do this|do it|be done"
    r"|(?:be )?made$|discuss\w*"
    r"|disclos\w*|share\w*)\b"
)
"""Denies something that a customer may want."""
_GRANT_DENIED = re.compile(
    r"\b(?:cancell?(?:ation|ing)|refund(?:ing|s)?|returns?|returning|replac(?:ement|ing)|repair(?:ing|s)?"
    r"|exchang(?:e|ing)|chang(?:e|es|ing)|waiv(?:er|ing)"
    r"|redirect(?:ion|ing)|rerouting|delivery|stopping it|exceptions?)\b(?: [\w'-]+){0,5}? (?:impossible|fails?"
    r"|failed|unavailable|excluded|ruled out|out of the question"
    r"|off the table|forbidden|prohibited|expired|too late|beyond|no longer|not (?:happen|work|possible|available"
    r"|an option|on))\b"
)


def refusal_mood(text: str) -> bool:
    """Whether a statement says no to something that a customer may want, in no particular phrase."""
    return bool(_NEGATED_GRANT.search(text) or _GRANT_DENIED.search(text)) and not re.search(
        r"\bno need\b|\bnot (?:have|need) to\b|^if\b|\bso (?:that )?(?:i|we) do not\b|^so that\b|^very well\b", text
    )


_BARE = re.compile(
    r"^(?:tell|let) (?:me|us)(?: know)?$|^say (?:so|yes)$|^(?:write|say|answer|reply"
    r"|type)(?: with)? [\"']?i (?:accept|agree)"
)


def is_bare_request(text: str) -> bool:
    """Whether a clause asks for an answer and not for anything in particular: "Just tell me", "Give me an hour"."""
    text = reduce_clause(text)
    return bool(_BARE.search(text) or _PAUSE.match(text))


def _agrees_after(text: str) -> bool:
    return bool(_IF_THEN.search(text)) and _WHETHER_AGREED.search(text) is not None


def request_mood(text: str) -> Mood | None:
    """What a clause without a question mark asks for: an order, or a wish that the reader tell or check something."""
    text = reduce_clause(text)
    if _NOT_A_REQUEST.search(text):
        return None
    if _IF_AGREED.search(text) or _WHICHEVER.search(text):
        return "offer"
    if (CHECK_IT.match(text) or TELL_ME.match(text) or _YOU_TELL.search(text)) and _agrees_after(text):
        return "offer"
    if CHECK_IT.match(text):
        return "confirm"
    if TELL_ME.match(text):
        return "ask"
    if re.match(r"(?:[a-z' ]{0,40} )?(?:thanks|thank)\b", text):
        return None
    if _YOU_CHECK.search(text):
        return "confirm"
    if _YOU_TELL.search(text):
        return "ask"
    if re.match(rf"(?:grateful|thankful|waiting|looking|asking|ready) for (?:the|your) (?:\w+ )?{INFO}\b", text):
        return "ask"
    if _AWAITS.search(text):
        return "ask"
    if _UNCLEAR.search(text) or _TELLING_HELPS.search(text):
        return "ask"
    return "ask" if _WANTS_INFO.search(text) else None
