"""What a clause with a question mark does by its form: who is to act in it, and by which class of verb or adjective.

"Could you TELL" asks, "could you CHECK" asks to check, "would you ACCEPT", "shall we DEAL" and "is it FINE" offer, and
"is it RIGHT" asks to check. A question of no known form has no mood here.
"""

import re

from palaestra.envs.user.statements import AGREES, CHECK_IT, TELL_ME, Mood, request_mood
from palaestra.envs.user.vocabulary import ACCEPT, BE, CHECK, DEAL, FINE, POLITE, RIGHT, TELL, WH, reduce_clause

_WH_OFFER = re.compile(
    r"^(?:(?:how|what) (?:about|if)\b|how (?:does|do|would|will|is|did)\b.*\b(?:sound|suit|feel|strike|work|be|fit"
    r"|look|grab)"
    r"\b(?! wrong| like when)|what (?:do|would|will|should) (?:you|i|we) (?:say|think|prefer|rather|like|make of"
    r"|reckon|want me"
    r"|want us|choose|do(?: for you)? instead)\b(?! (?:to )?(?:return|cancel|change|happen|send|exchange"
    r"|swap|us to|me to))|why (?:do not|not)\b"
    r"|which (?:one |option |of (?:the|these) \w+ )?(?:would|will) (?:suit|be better|you sooner)\b"
    r"|which (?:(?:one|of (?:the|these|those)(?: \w+)?|option|way|solution|of them) )?(?:(?:do|would|will"
    r"|should) (?:you|it|we|i)"
    r" )?(?:prefer|fancy|like|choose|rather|suits?|appeals?|go for|opt|take)\b(?!.*\b(?:cancel|return|send back"
    r"|change)\b)"
    r"|what (?:do|would|will|should) (?:you|i|we) (?:rather|prefer)\b|what is your (?:preference|choice|decision"
    r"|verdict|answer|wish|pick)|who says no)"
)
_YOU = re.compile(rf"^{BE}(?: not)? you\b ?(?:{POLITE} ?)*(.*)")
_SHOP = re.compile(rf"^{BE}(?: not)? (?:i|we)\b ?(.*)")
_THERE = re.compile(
    r"^(?:is|are|was|were|might|could|would|will|may)(?: not)? there\b(?: (?:be|have been"
    r"|been))? ?(?:(?:by any )?chance )?(.*)"
)
_ELSE = re.compile(
    r"^(?:(?:is|was|are|were|will|would|has|have) (?:there|that|this|it|you)(?: be)? ?(?:got )?)?(?:any ?thing"
    r"|something|any"
    r"|everything|all|any questions?|what(?= else))(?: questions?)?(?: (?:else|more|further|other|left|open|missing))?"
    r"(?: (?:questions?|concerns?|help|needs?|wishes|on your (?:mind|list)|to (?:sort|clear|add|do)|(?:that )?(?:i"
    r"|we|you)\b.*"
    r"|for you|for today|today|for now))?$"
)
_MISTAKEN = re.compile(
    r"\b(?:mix(?:ed)?(?:[- ]up)?|mistaken?|typo|typing|mistyp\w*|swap(?:ped)?|misread|transposed|confus\w*|slip|wrong"
    r"|misspel\w*|digits?|copied|another|different|error|misprint|mean|meant)\b"
)
_OR = re.compile(r"\bor\b(?! (?:so|not|anything|something)\b)")


def question_mood(text: str) -> Mood | None:
    """What a clause with a question mark does."""
    if re.match(r"(?:and |so |but )*(?:the|your) (?:[\w-]+ ){1,4}(?:is|was|would be)$", text):
        return "ask"
    whole = text
    text = reduce_clause(text) or text
    if _CHECK_TAG.match(text):
        return "confirm"
    if _ELSE.match(text):
        return "close"
    if _WH_OFFER.match(text):
        return "offer"
    if re.match(r"(?:care|fancy|like|mind|able|possible) to (?:share|tell|say|send|give|describe|explain)\b", text):
        return "ask"
    if re.match(rf"(?:(?:at|to|on|in|for|of|from|by|with|under|about) )?{WH}\b", text):
        return "ask"
    for form, read in ((_THERE, _read_existence), (_YOU, _you), (_SHOP, _shop)):
        if match := form.match(text):
            return read(match.group(1), text)
    if re.match(rf"{BE}\b", text):
        return _thing(text, whole)
    return _fragment(text)


_CHECK_TAG = re.compile(
    r"^(?:(?:have|did|do) i (?:\w+ )?(?:summed|sum|grasp(?:ed)?|followed?|noted?|have|get|got|understood?)"
    r" (?:it|that|this|you|everything|all of it)(?: \w+){0,2}|(?:do|does) (?:that|this|it|these)(?: still)?"
    r" (?:match|tally|agree|fit)\b.*|is that how\b.*|is (?:that|this|it) how\b.*|yes|right|correct|true"
    r"|no|(?:both|all|everything) (?:right|correct|true)|is that so|is that (?:right"
    r"|correct)|am i right|(?:have|did) i (?:got|get|understood?) (?:it|that|this|you)"
    r"(?: right| correctly)?)$"
)
"""Asks to check what was said before."""


def is_check_tag(text: str) -> bool:
    """Whether a clause only asks to check what was said before: "Right?"."""
    return _CHECK_TAG.match(text) is not None


_INSISTS = re.compile(r"\b(?:really|indeed|definitely|actually|certainly)\b")


def _read_existence(rest: str, _: str) -> Mood | None:
    if _MISTAKEN.search(rest):
        return "confirm"
    return "offer" if rest.startswith(("interest", "any interest")) else None


def _you(rest: str, text: str) -> Mood | None:
    tells = TELL_ME.match(rest) is not None
    if CHECK_IT.match(rest):
        return "offer" if AGREES.search(rest) and re.search(r"\b(?:if|whether)\b", rest) else "confirm"
    if re.match(r"say (?:that )?(?:it|this|that) is\b", rest):
        return "confirm"
    if tells:
        return "offer" if AGREES.search(rest) and "whether" in rest else "ask"
    if re.match(
        r"(?:really |by any chance )?(?:mean|meant|refer|talk|speak|write about|talking|speaking|referring)\b", rest
    ):
        return "ask" if _OR.search(rest) else "confirm"
    if re.match(rf"(?:be )?(?:\w+ )?(?:{ACCEPT}|{FINE})\b", rest) and not re.match(
        r"(?:want|like) to (?:cancel|change)", rest
    ):
        return "offer"
    if re.match(
        r"(?:still |then |now )?(?:return|send (?:it|that|this|them) back|have (?:it|that|this|them)\b|let us)", rest
    ):
        return "offer" if re.match(r"(?:will|would)\b", text) else None
    if re.match(r"(?:quite |really |absolutely )?(?:sure|certain|positive|confident)\b", rest):
        return "confirm"
    if _MISTAKEN.search(rest):
        return "confirm"
    if re.match(r"(?:know|remember|recall|have|got|see|notice\w*|happen|tried|try)\b", rest):
        return "ask"
    del text
    return None


def _shop(rest: str, text: str) -> Mood | None:
    if re.match(r"(?:be )?(?:right|correct|wrong|mistaken|to understand|understanding|reading|getting)\b", rest):
        return "confirm"
    if re.search(
        r"\b(?:right|correctly|properly|the way you)$|^write that down\b|(?:got|read|understood?|hear\w*|not\w+"
        r"|wr[io]t\w+|put) (?:it|that|this|you|your)"
        r"(?: down)?(?: right)?$",
        rest,
    ):
        return "confirm"
    if re.match(r"(?:agree|settle|shake)\b|have (?:it|that|this)$", rest):
        return "offer"
    if re.match(
        r"(?:take it that|assume|gather|understand|conclude|be sure|read)\b|(?:talking|speaking|looking at)", rest
    ):
        return "ask" if _OR.search(rest) else "confirm"
    if re.search(
        r"\b(?:your|a) (?:agreement|consent|okay|approval|permission|go-ahead|go ahead|blessing|word|deal|yes"
        r"|green light|understanding)\b|\ban? (?:agreement|deal|understanding)$"
        r"|^(?:a deal|agreed)",
        rest,
    ):
        return "offer"
    if asked := re.match(r"(?:ask|invite|trouble|bother|request|beg) (?:of )?you (?:to |for )?(.*)", rest):
        return "confirm" if re.search(rf"\b(?:{CHECK})\b", asked.group(1)) else "ask"
    if re.match(rf"(?:{CHECK})\b", rest):
        return "confirm"
    if re.match(r"(?:ask|have|get|know|see|request|learn|hear)\b", rest) and not re.match(
        r"(?:have|get) (?:it|that|this|one) \w+", rest
    ):
        return None if re.match(r"(?:have|get) (?:a|one|the \w+ (?:sent|repaired|replaced))", rest) else "ask"
    if re.match(DEAL + r"(?:\b|$)", rest) or not rest:
        return "offer" if re.match(r"(?:shall|should|may|can|could|might|do|would|must|will)\b", text) else None
    return None


def _thing(text: str, whole: str) -> Mood | None:
    if re.search(r"\bsomething (?:that )?you (?:would|could|can|might|are)\b", text):
        return "offer"
    if re.search(
        rf"\b(?:{FINE})(?: (?:with|to|for|by) you)?(?: (?:then|instead|if\b.*))?$|\b{FINE} (?:with|to|for|by) you\b",
        text,
    ):
        return "offer"
    if re.match(
        r"(?:would|does|do|will|can|could)\b.* (?:work|suit|do|help|sound|appeal|fit|interest|satisfy|solve"
        r"|tempt)(?: \w+){0,6}$",
        text,
    ) and not re.search(r"\bnot\b|\bit work\b", text):
        return "offer"
    if re.match(
        r"(?:might|could|would|will) (?:a|an|the|some|\w+ing|(?:that|this|it)(?= (?:settle|tide|make up)))\b.*"
        r" (?:tide|settle|help|do|suit|be (?:any|of)|make up|fix things|sort)\b|(?:do|does) (?:that|this|it) sit\b",
        text,
    ):
        return "offer"
    if _OR.search(text):
        return "ask"
    if re.match(rf"{BE}(?: not)? (?:i|we|it|that|this|the|your)\b", text) and _INSISTS.search(whole):
        return "confirm"
    if re.search(rf"\b{RIGHT}(?: \w+){{0,2}}$", text):
        return "confirm"
    if re.match(r"(?:is|could|might|may|would|can) (?:it|that|this)\b", text) and _MISTAKEN.search(text):
        return "confirm"
    return None


def _fragment(text: str) -> Mood | None:
    if re.match(r"(?:you|are you)(?: \w+)? (?:in|okay|fine|happy|good)\b|sounds? (?:fair|okay|good|fine)\b", text):
        return "offer"
    if re.match(r"you are (?:\w+ )?(?:sure|certain|positive)\b|sure\b", text):
        return "confirm"
    if re.match(r"(?:any ?thing|something) (?:left|missing)\b|all (?:done|set)\b", text):
        return "close"
    if re.match(r"(?:got|have) (?:an?|the|your|any)\b", text):
        return "ask"
    if re.match(r"(?:any|no) (?:objections?|reservations?)\b", text):
        return "offer"
    if match := re.match(rf"(?:mind|care to|able to|possible to) ((?:{TELL}|{CHECK})\b.*)", text):
        return request_mood(match.group(1))
    if re.match(
        rf"(?:{FINE})(?: (?:with|by|for|to) (?:you|that|this|it))?$|(?:want|need|like|prefer) (?:me|us) to"
        rf"|.*\bwould (?:do|work|help|suit|be {FINE})\b|(?:mind if|fancy|care for|ready for|interested in|up for)\b",
        text,
    ):
        return "offer"
    return request_mood(text)
