"""The words by which clauses are told apart: verbs and adjectives of one class, each with its forms.

A class is a group of a regular expression, to be put into patterns; one class is used by questions and statements.
"""

import re
from functools import lru_cache

_FILLERS = frozenset({
    "just", "still", "quite", "maybe", "perhaps", "possibly", "simply", "kindly", "please", "also", "only",
    "actually", "then", "now", "therefore", "sadly", "unfortunately", "regrettably", "certainly", "honestly",
    "gladly", "happily", "quickly", "briefly", "exactly", "precisely", "basically", "currently", "indeed",
    "absolutely", "ever", "even", "too", "though", "truly", "very", "already", "first", "instead", "really",
    "definitely", "roughly", "completely", "entirely", "fully", "perfectly", "otherwise", "however", "alas",
    "thus", "hence", "surely", "merely", "likewise",
})  # fmt: skip
"""Words without which a clause does the same."""
_LEAD = re.compile(
    r"^(?:(?:and|so|but|or|okay|well|now|then|also|sorry|oh|ah|hm+|right|great|sure|thanks|first|finally|yes or no"
    r"|oh dear"
    r"|fine|good|understood|all right|in that case|if so|if not|one (?:more|last) (?:thing|question)"
    r"|(?:a )?quick question"
    r"|question|by the way|to be (?:sure|clear|safe|certain)|in your own words|(?:let me know|tell me)(?=[,:;])"
    r"|before that"
    r"|from what you (?:write|wrote|say|said|describe)|roughly|out of interest|for (?:the record|my notes|that)"
    r"|with that in mind|from here|if i may(?: ask)?|that said|still|again|or else|instead)[,:; ]+)+"
)

# Verbs, each with its forms.
TELL = (
    r"(?:tell(?:ing)?|say(?:ing)?|giv(?:e|ing)|provid(?:e|ing)|shar(?:e|ing)|nam(?:e|ing)|stat(?:e|ing)"
    r"|describ(?:e|ing)|specify(?:ing)?|explain(?:ing)?|remind(?:ing)?|supply(?:ing)?|clarify(?:ing)?|indicat(?:e|ing)"
    r"|mention(?:ing)?|quot(?:e|ing)|list(?:ing)?|enter(?:ing)?|includ(?:e|ing)|let(?:ting)? (?:me|us) (?:know|have)"
    r"|writ(?:e|ing)|drop(?:ping)? (?:me|us)|repl(?:y|ying)|respond(?:ing)?|answer(?:ing)?|point(?:ing)? (?:me|us"
    r"|out|to)"
    r"|identify(?:ing)?|pick(?:ing)?(?: out)?|spell(?:ing)?|elaborat(?:e|ing)|not(?:e|ing) down|jot(?:ting)? down"
    r"|resend|repeat|send (?:\w+ ){1,4}(?:again|once more|from)|send(?:ing)? (?:me|us|along|over|the (?:order"
    r"|number|address|product|details?)|your (?:order|number|address))"
    r"|mail(?:ing)? (?:me|us)|email(?:ing)? (?:me|us)|pass(?:ing)? (?:on|me|us|along)|read(?:ing)? (?:me|us|out)"
    r"|fill (?:me|us) in|outlin(?:e|ing)|summari[sz](?:e|ing)|report(?:ing)?|detail(?:ing)?|forward(?:ing)?"
    r"|walk (?:me|us) through|talk (?:me|us) through|run (?:me|us) through|advis(?:e|ing)|disclos(?:e|ing)"
    r"|help (?:me|us)"
    r"|get in touch|contact(?:ing)? (?:me|us)|shed|type|copy|paste|look up|dig (?:out|up)|narrow|which|break down"
    r"|sketch|narrat(?:e|ing)|inform (?:me|us)|come back to (?:me|us) with|get back to (?:me|us) with)"
)
CHECK = (
    r"(?:check(?:ing)?|double[- ]?check(?:ing)?|re-?check(?:ing)?|cross[- ]?check(?:ing)?|verif(?:y|ying)"
    r"|confirm(?:ing)?"
    r"|mak(?:e|ing) (?:sure|certain)|validat(?:e|ing)|compar(?:e|ing)|review(?:ing)?|re-?read(?:ing)?|proofread"
    r"|ensur(?:e|ing)"
    r"|(?:hav|tak)(?:e|ing) (?:another|a second|one more|a closer|a fresh|a quick|a)(?: \w+)? (?:look|glance)"
    r"|look(?:ing)? (?:again|it over|it up again|at (?:\w+ ){1,4}(?:again|once more))|see (?:if|whether)"
    r"|reconfirm(?:ing)?"
    r"|(?:tell|telling|say|let)(?: me| us)?(?: know)? (?:if|whether)|count (?:\w+ ){0,3}again|go over|correct me)"
)
ACCEPT = (
    r"(?:accept|agree|consent|consider|fancy|settle for|live with|go for|opt|choose|prefer|rather|wish|want|like"
    r"|care for"
    r"|take|object|welcome|say (?:yes|no) to|bear|put up with|have us|have me|need me|need us|approve|go along"
    r"|be up for"
    r"|be open to|go ahead|keep it)"
)
FINE = (
    r"(?:okay|fine|happy|all right|good|acceptable|comfortable|content|agreeable|agreed|satisfied|cool|interested"
    r"|willing"
    r"|prepared|suitable|in agreement|on board|convenient|ready|of interest|an option|a solution|an alternative"
    r"|in order"
    r"|open|in favou?r|any (?:good|use|help)|a deal|fair|up for|keen|at peace|reasonable|the right (?:thing|choice"
    r"|way|solution)|a good idea|something (?:for you"
    r"|(?:that )?you|to your)|to your liking|tempted|game|enough)"
)
DEAL = (
    r"(?:offer|replace|repair|give you|send|credit|propose|arrange|exchange|refund|cancel|return|book|set|open"
    r"|start|issue"
    r"|process|proceed|press on|scrap|go (?:ahead|on)|continue|carry on|take (?:it|the|this|that|your|off"
    r"|back)|ship|redirect|change"
    r"|swap|fix|mend|reimburse|pay|transfer|authori[sz]e|order|stop|register|organi[sz]e|put|initiate|create"
    r"|prepare|raise"
    r"|file|place|deliver|dispatch|schedule|forward|route|reroute|update|move|deduct|keep|charge|do (?:that|this"
    r"|it|so)"
    r"|try|collect|apply|call (?:it )?off|reverse|handle|post|mail|add|submit|halt|split|expedite|upgrade|compensate"
    r"|tempt|interest you|suggest|recommend|advise|draw up|trigger|launch|get (?:it|that|this|one|you)"
    r"|have (?:it|this|that|one|the|your) )"
)
RIGHT = (
    r"(?:right|correct|accurate|true|so|complete|up to date|current|valid|the (?:\w+ )?(?:one|case|same)|it"
    r"|the (?:right|correct)"
    r" \w+|the \w+ (?:in question|you (?:mean|meant|have in mind|are (?:talking|writing) about)|concerned)"
    r"|what you (?:mean|meant|want|wanted|said|have in mind|are after)|meant|spelled|spelt|describe|still yours|yours)"
)
BE = r"(?:is|are|was|were|would|will|do|does|did|has|have|had|can|could|may|might|shall|should|must|am)"
POLITE = (
    r"(?:be (?:so )?(?:kind|good|nice)(?: enough)?(?: as)?(?: to)?|be able to|be willing to|be prepared to|mind"
    r"|care to|manage to"
    r"|like to|want to|wish to|happen to|have to|need to|be in a position to|possible to|find (?:it|the \w+) and)"
)
REQUEST = (
    r"(?:ask|request|invite|beg|urge|want|need|like|require|grateful|thankful|appreciate\w*|obliged|glad|great"
    r"|helpful|lovely"
    r"|good|nice|kind|perfect|help|helps|ideal|love|trouble|bother|useful|if|necessary|important|wonderful|best"
    r"|counting on"
    r"|rely on|hope|quicker|faster|easier|speed\w*|good idea)"
)
INFO = (
    r"(?:order|order number|number|id|address|street|postcode|product|item|article|details?|information|info"
    r"|description"
    r"|account|email|quantity|reference|name|photos?|pictures?|house number|model|symptoms?|words?|sentence|specifics?"
    r"|facts?|particulars|destination|city)"
)
WH = (
    r"(?:which|what|where|when|who|whose|why"
    r"|how(?! (?:annoying|frustrating|upsetting|important|you feel|much (?:this|that|it) )))"
)


@lru_cache(maxsize=2_048)
def reduce_clause(text: str) -> str:
    """A clause without the words that lead to it and those without which it does the same."""
    kept = " ".join(word for word in text.split() if word.strip(",") not in _FILLERS)
    return _LEAD.sub("", kept).strip(" ,:;")
