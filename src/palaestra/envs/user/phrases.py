"""The English phrases by which a sentence tells what it does. They are read in lower case, contractions written out."""

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(alternatives) + r")\b")


CONFIRM = _any(
    r"confirm(?: that| whether| if|ing)?",
    r"double[- ]check",
    r"check (?:it |that |them |this )?(?:again|once more)",
    r"are you (?:quite |really |absolutely )?(?:sure|certain)",
    r"(?:is|are) (?:that|this|it|those|they) (?:really |indeed )?(?:the )?(?:right|correct)",
    r"is [\w -]{3,40} (?:really |indeed )?the (?:right|correct)",
    r"just to be (?:sure|clear|safe)",
    r"did you mean",
    r"do you mean",
    r"could you have (?:mixed|mistaken)",
    r"look (?:it |that |this )?(?:up )?again",
    r"(?:please|could you|can you|would you) (?:kindly |please )?(?:verify|check|have another look|"
    r"take another look|look once more)",
    r"might you be thinking",
    r"(?:would|do) you mind (?:checking|looking|verifying|confirming)",
    r"may(?:be)? (?:you|it) (?:is|are|have) mistaken",
)
"""Asks to check what was said."""

OFFER = _any(
    r"would you (?:like|prefer|accept|be (?:happy|fine|ok|okay|willing|interested)|rather|want|consider|"
    r"take)",
    r"(?:i|we) (?:can|could|would like to|would be happy to|are happy to|am happy to|are able to|"
    r"am able to) (?:instead |also |happily |gladly |certainly )?(?:offer|replace|repair|give you|"
    r"send you|credit|propose|arrange|exchange)",
    r"(?:what i|what we|all i|all we) can (?:do|offer)(?: you)?(?: instead)? is",
    r"(?:would be|am|are) (?:glad|happy|pleased) to (?:offer|replace|repair|give|send|credit|propose|arrange|exchange)",
    r"would (?:a|an|the|some) [\w -]{3,40} (?:work|do|suit|help)",
    r"would it be (?:ok|okay|fine|all right|alright) (?:if|for)",
    r"how about",
    r"what about (?:a|an|having|getting)",
    r"shall (?:i|we)",
    r"should (?:i|we)",
    r"do you want (?:me|us) to",
    r"(?:may|can|could) (?:i|we) offer",
    r"(?:is|would) (?:a|an|the) [\w -]{3,40} (?:be )?(?:ok|okay|fine|acceptable|all right|alright|"
    r"good enough)(?: (?:for|with) you)?",
    r"(?:i|we) offer you",
    r"(?:as an alternative|alternatively|in its place)",
    r"instead,? (?:i|we) (?:can|could)",
)
"""Offers something."""

REFUSE = _any(
    r"(?:i|we|that) (?:can|could|will|would|may|am|are|do|is|shall) (?:therefore |sadly |unfortunately |"
    r"simply |really |just )*not(?! (?:see|find|tell which|tell what|locate|know|sure|certain|help but|"
    r"clear|only|have (?:your|the) (?:order|street|number|name|address)|worry|yet))",
    r"can not (?:be|come|go|qualify|do|make|take|accept|offer|give|grant|waive|change|cancel|refund|return|replace)"
    r"(?! (?:found|seen|located))",
    r"say no to",
    r"(?:will|would) not (?:change|be changed)",
    r"answer (?:is|remains|stays|has to be) no",
    r"(?:i|we) (?:am|are) (?:unable|not able|not allowed|not permitted)",
    r"not (?:something (?:i|we) can do|eligible|entitled|possible|allowed|permitted)",
    r"(?:must|have to|need to|had to|will) (?:decline|refuse|reject|turn (?:it |this |that )?down)",
    r"(?:is|was|be|been) (?:declined|refused|rejected|denied)",
    r"(?:i|we) (?:decline|refuse)",
    r"(?:against|outside|not covered by|excluded (?:by|under|from)|does not allow|do not allow) (?:our |"
    r"the |company )?(?:policy|policies|rules|handbook|warranty|window)?",
    r"no (?:refunds?|returns?|exceptions?|waivers?|replacements?)",
    r"no (?:longer|more) (?:possible|returnable|eligible|refundable)",
    r"(?:too late|out of time) (?:to|for)",
    r"(?:window|period|warranty|deadline) (?:has |is |had )?(?:closed|expired|passed|over|ended)",
    r"nothing (?:more |else )?(?:i|we) can do",
    r"impossible",
    r"(?:stands|remains) (?:firm|as it is|final)",
    r"final (?:decision|answer)",
    r"no way (?:around|to)",
)
"""Says no."""

ASK = _any(
    r"(?:please|kindly|could you|can you|would you|will you|may i ask you to) (?:please |kindly )?"
    r"(?:also )?(?:tell|give|send(?! (?:it|them|this|that|the [\w -]{2,30}) back)|provide|share|let|name|"
    r"state|describe|specify|say|write|explain|remind|"
    r"supply|clarify|reply|respond|answer|(?:e-?)?mail (?:me|us))",
    r"let (?:me|us) know (?:which|what|where|when|who|how|whether|your|the|if you (?:remember|know))",
    r"(?:i|we) (?:still |just |only |also |will |would |first )*(?:need|require|would need|am missing|are missing|lack)"
    r"(?! to (?:decline|refuse|reject|inform|tell you))",
    r"(?:may|can|could|might) (?:i|we) (?:ask|have|get|know)",
    r"(?:i|we) (?:would|should) (?:like|need) to know",
    r"(?:i|we) (?:can|could|do) not (?:see|find|tell|know|locate) (?:which|what|where|when|who|how|"
    r"whether|your|the)",
    r"^(?:(?:tell|send|give) (?:me|us)|describe|specify|name|provide|share|state)",
    r"what i need (?:to know )?is",
    r"do you (?:have|know|remember|recall|happen to)",
    r"tell (?:me|us) (?:which|what|where|when|who|how|more|your|the)",
    r"(?:need|want) to know",
    r"(?:wondering|ask(?:ing)?) (?:which|what|where|when|who|how|whether)",
    r"(?:clarify|specify)",
)
"""Asks for something without a question mark, perhaps."""

QUESTION_WORD = re.compile(
    r"(?:^|: |, (?!which|who|where|when))"
    r"(?:(?:hi|hello|hey|dear)(?: [a-z]+){0,2}[,:-]* )?"
    r"(?:(?:ok|okay|so|and|also|well|but|sorry|thanks|thank you|understood|great|sure|of course|first|now|then|"
    r"before that|just|for that)[,:-]* ){0,3}"
    r"(?:which|what(?! (?:we|i) (?:can|could))|where|when|who|whose|why|how (?:many|much|long|did|do|can|is)|"
    r"(?:at|to|on|in|for|of|from|by) (?:which|what|whom))\b"
)
"""Begins as a question does, after a greeting or the like."""

APOLOGISE = _any(
    r"(?:am|are|so|very|really|truly|terribly|deeply) sorry",
    r"^sorry",
    r"apolog\w+",
    r"regret",
    r"forgive",
)
"""Says sorry."""

CLOSE = _any(
    r"good ?bye",
    r"bye(?: bye)?",
    r"have a (?:nice|good|great|lovely|wonderful|pleasant)",
    r"take care",
    r"(?:i|we) wish you",
    r"best (?:regards|wishes)",
    r"kind regards",
    r"(?:i|we) (?:will|am going to|are going to|have|now|shall|can)?\s*(?:now |hereby |then )?(?:close|"
    r"closed|closing) (?:the|this|your) (?:ticket|case|request)",
    r"(?:ticket|case|request) (?:is|has been|will be) (?:now )?(?:closed|resolved|settled)",
    r"(?:anything|something) else (?:i|we|that)",
    r"is there (?:anything|something) else",
    r"all done",
    r"glad (?:i|we) could help",
    r"thank you for (?:contacting|writing|your patience)",
)
"""Says goodbye, or closes the case."""

RHETORICAL = _any(
    r"anything else",
    r"something else",
    r"how can (?:i|we) help",
    r"how are you",
    r"what else can",
)
"""A question that wants no answer."""
