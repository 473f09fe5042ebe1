"""The phrases of courtesy: excuses, farewells, and small talk that says nothing."""

import re

from palaestra.envs.user.phrasing import Phrases

APOLOGISE = Phrases(
    r"(?<!not )(?<!no )sorry(?! (?:state|sight|excuse|condition))",
    r"(?<!need to )(?<!not )apolog\w+",
    r"(?:we|i|deeply|sincerely|much|very) (?:\w+ )?regret",
    r"regret(?:s|fully)? (?:the|that|this|to|any|your|our)",
    r"forgive (?:me|us|the|my|our|this|any)",
    r"(?:my|our) (?:bad|sincere regrets?|regrets)",
    r"(?:i|we) beg your pardon",
    r"pardon (?:me|us|the|my|our)",
    r"excuse (?:me|us|the|my|our) (?:for|mistake|delay|error|wait|mix)",
    r"(?:please )?excuse (?:the|our|my)",
    needs=("sorry", "apolog", "regret", "forgive", "bad", "pardon", "excuse"),
)
"""Says sorry."""

_TIME = (
    r"(?:day|days|evening|weekend|week|afternoon|night|morning|time|holidays?|start|rest|luck|success|christmas|easter"
    r"|summer|autumn|winter|spring|trip|journey|flight|birthday|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|vacation|break"
    r"|new year|month|stay|fun|blast|joy|good one)"
)
_CASE = r"(?:ticket|case|request|conversation|matter|chat|enquiry|inquiry|thread|issue|file|call)"
_END = (
    r"(?:clos(?:e|es|ed|ing)|resolv(?:e|ed|ing)|archiv(?:e|ed|ing)|wrap(?:ped|ping)? up|conclud\w+"
    r"|settled|solved|done|finish\w*|complet\w*|ended?)"
)
_ANY_TIME = (
    r"(?:any ?time|whenever|again(?! (?:from|with|using|via|by))"
    r"|if (?:you (?:need|have|run|get|are stuck)|anything|there|something)"
    r"|should (?:anything|something|there)|once more)"
)
_REACH = (
    r"(?:write|contact|reach(?: out)?|get (?:back )?in touch|reply|ask|call|message|come back|email|mail"
    r"|drop (?:us|me|by)"
    r"|let (?:us|me) know|ring|phone|holler|shout|get back to (?:us|me)|be in touch|talk to us|return to us)"
)
CLOSE = Phrases(
    r"(?:good ?)?bye(?:[ -]bye)?|farewell|so long(?! as)|see you|see ya|cheerio|ciao|adieu|ta-ta|toodle\w*"
    r"|cheers then",
    r"cya|^later$|(?:catch|see) (?:you|ya)|mind how you go|have a (?:\w+ )?one$|have yourself an?"
    r"|(?:call|consider) (?:this|it|that) (?:settled|closed|done|resolved)|take it easy",
    r"case closed|over and out|signing off",
    rf"^(?:(?:and|so|do|please|then|now|well|you|just|to all) )?(?:have (?!a (?:new|look)|bought|had|been)|enjoy"
    rf"|may|happy|good|nice|great|lovely|wonderful|pleasant|sunny|relaxing|merry|wish(?:ing)?|here is to"
    rf"|all the best|best of|hope)\b(?! (?:news|to|that (?:the|your|it)))(?: [\w'-]+){{0,7}}? {_TIME}"
    rf"(?= to you| everyone| ahead| too| then| with| and| be\b| for| off| at| in\b|$)",
    rf"(?:have|enjoy|wish(?:ing)? (?:you|him|her)(?: all)?) (?:a|an|your|the rest of|some"
    rf"|all the)(?: [\w'-]+){{0,4}}? {_TIME}",
    r"take (?:good )?care(?! of)|look after yourself|(?:be|stay|keep|sleep|fare|travel|live) (?:well|safe|healthy"
    r"|warm|safely)$",
    r"(?:be|stay|keep|sleep) (?:well|safe|healthy|warm)(?= and|,)",
    r"all the (?:very )?best(?! (?:to (?:help|find|do|get|solve)|efforts?|we|i))|my (?:very )?best(?! (?:to"
    r"|efforts?))",
    r"all good wishes|(?:i|we) (?:wish|bid) (?:you|him|her)|wish(?:ing)? you|good luck",
    r"(?:until|till) (?:the )?(?:next time|then$|soon|we)|(?:talk|speak)(?: to you)? soon",
    r"(?:best|kind|warm|many)(?:est)? (?:regards|wishes|greetings)|^(?:with )?regards",
    rf"{_END}(?: (?:off|out|up))? (?:the|this|your|our) (?:\w+ )?{_CASE}",
    rf"^{_CASE}(?: \S+)? {_END}$|(?:the|this|your|our) (?:\w+ )?{_CASE}(?: \S+)?(?: (?:is|has|been|was|will|be|can"
    rf"|now|are|am"
    rf"|therefore|hereby|going|to|as|counts|considered|hereby|then))+ {_END}",
    r"(?:mark|marking|marked|set|setting|consider|regard|count|treat) (?:the|this|your|it|that)(?: \w+)?(?: (?:as"
    r"|to|is))? "
    r"(?:closed|resolved|done|settled|solved|finished|complete|over)",
    r"(?:closing|wrapping up) (?:the|this|your|off|up|here|now|it|things)",
    r"(?:that|this)(?: (?:is|was|will be|would be|wraps|concludes|closes|settles|makes))(?: \w+){0,2}? (?:all"
    r"|everything|it|up|case"
    r"|matter|ticket|conversation)(?: (?:then|for (?:now|today)|from (?:me|us|my side|our side|my end|our end)"
    r"|done|now))*$",
    r"(?:we|you) are (?:all )?(?:through|done|finished|all set|good to go)(?: here| now| then)?$|with that (?:we|i"
    r"|you) are",
    r"(?:anything|any questions?) (?:else|more|further)(?= (?:i|we|that|you|on|with|for|to|at|is|before|comes?"
    r"|come|arises?"
    r"|arise|happens?|bothers?|puzzles?)|$)",
    r"(?:any|some|more|further|other|additional) (?:other |further |more |open )?(?:questions?|concerns?|queries"
    r"|help|assistance|issues?"
    r"|requests?|matters?|worries|doubts)(?! (?:about|is|was) (?:the|your) (?:product|order|item))",
    rf"(?:feel free|do not hesitate|never hesitate|free to|welcome to|happy to hear|do|just|simply|please|can"
    rf"|may)(?: (?:to|always))*"
    rf" {_REACH}(?: \w+){{0,4}}? {_ANY_TIME}|(?:feel free|(?:do not|never) hesitate) to|(?:welcome|free) to {_REACH}",
    rf"^{_REACH}(?: \w+){{0,3}}? {_ANY_TIME}",
    r"(?:only|just) (?:a|an|one) (?:mail|message|call|click|email|phone call|line|note) away"
    r"|you know where (?:to find|we are|i am)",
    r"look(?:ing)? forward to (?:seeing|serving|hearing|having|welcoming|your next)",
    r"(?:we|i) (?:are|am|will be) (?:always |still )?(?:here|around|there)(?: for you)?(?: (?:if|should|whenever"
    r"|any ?time)|$)",
    r"(?:if you|should you|in case you)(?: ever| still)? (?:need|have|require|want)(?: to)? (?:anything|any"
    r"|further|more|help|another|us again|some)(?! (?:information|details?|time|address|one))",
    r"(?:should|if|in case) (?:anything|something|any \w+)(?: \w+)? (?:else|come up|comes up|arise|arises"
    r"|happen|remain|remains|be unclear|is unclear|new|more)",
    r"not need (?:us|me|anything)(?: any)? (?:further|more|else|longer)",
    r"(?:glad|happy|pleased|delighted|pleasure) (?:that )?(?:(?:i|we) (?:could|was able to|were able to|can)"
    r"|to have been able to|to have|to be able to)(?: be)?(?: of)? (?:help|helped|assist|assisted|sort|service"
    r"|serve|solved)\w*",
    r"(?:was|is|been) (?:a|my|our) pleasure|pleasure (?:helping|assisting|to help|to assist|serving)",
    r"thank(?:s| you) for (?:shopping|being|choosing)(?= \w+ with us)",
    r"^enjoy(?: (?:your|the|it|them|using))?(?: new)?(?: \w+)?$|have (?:fun|a blast|joy)\b",
    r"(?:we|i) (?:consider|regard) (?:this|it|that|your \w+|the \w+) (?:as )?(?:closed|settled|done|resolved"
    r"|finished)",
)
"""Says goodbye, or closes the case."""

RHETORICAL = Phrases(
    r"(?:anything|something|what|any questions?) (?:else|more|further|other)(?= (?:i|we|that|you|on|with|for|to|is"
    r"|can|at|before)|$)",
    r"(?:any|some|other|further|more) (?:other |further |more )?(?:questions?|concerns?|queries|help|assistance"
    r"|issues?|requests?)",
    r"(?:all|everything) (?:sorted|settled|clear|good)(?: now)?(?: for you)?$",
    r"^(?:was|is|would|will) (?:that|this|it)(?: be)? (?:all(?! right)|everything|it)(?: \w+){0,3}$",
)
"""A question by which a talk is ended."""

NO_ACT = re.compile(
    r"^(?:and |so |well |again |hello |hi |hey |,)*(?:"
    r"(?:first of all,? )?(?:many |a big |a thousand |kind |warm )*(?:ta|thanks?|thank you"
    r"|thank-you)\b(?!.*\b(?:but|however)\b).*"
    r"|(?:i|we)(?: (?!would|could)\w+)? (?:appreciate|thank|value)\b.*"
    r"|(?:i|we)(?: (?:do|can|really|fully|quite|certainly|completely|totally|truly|of course|entirely|very|well"
    r"|much)){0,2} (?:understand|sympathi[sz]e|feel for|can imagine|hear|see why|know how|get that"
    r"|get how|get why|can see (?:why|how|"
    r"that you))\b.*"
    r"|(?:i|we) (?:can not imagine|share your)\b.*"
    r"|(?:it|that|this) is (?:so |very |really |most )?(?:kind|nice|good|sweet|generous|thoughtful) of you\b.*"
    r"|you are (?:\w+ )?right\b.*"
    r"|(?:i|we)? ?hope\b.*"
    r"|(?:i|we)? ?trust (?:you|this|that)\b.*"
    r"|(?:just |only )?(?:one|a|just a|give me a|bear with me|please wait|hold on|hang on"
    r"|please hold)\b(?: \w+){0,2} (?:moment|second|sec|minute|while)\b(?: (?!refund|return|replacement|one)|,|$).*"
    r"|(?:please )?(?:bear with|wait for|hold on|hang on|stand by)\b.*"
    r"|(?:please )?(?:let|give) me (?:just )?(?:look|see|think|have a look|check(?! (?:that|whether|if|the"
    r"|your))|a (?:moment|second|minute))\b.*"
    r"|(?:i|we) (?:am|are|was|were) (?:\w+ )?(?:glad|happy|pleased|delighted|thrilled|excited) (?:to hear"
    r"|to read|that|you|it|about|"
    r"to see|to have you)\b.*"
    r"|(?:(?:it is|it was|what a|always)? ?(?:nice|lovely|good|great|pleasure|glad|happy) to (?:hear|meet|see"
    r"|read|have)\b.*)"
    r"|(?:that|this|it|what you (?:describe|write))? ?(?:must|sounds?|is|has been|must have been"
    r"|certainly)(?: \w+){0,3} (?:frustrating|annoying|"
    r"upsetting|unpleasant|disappointing|stressful|a nuisance|a shame|a pity|awful|terrible|inconvenient)\b.*"
    r"|(?:you are|you're) (?:most |very |always |quite |so )?(?:welcome(?! to\b)|right to (?:be|ask|write"
    r"|complain)|valued|important)\b.*"
    r"|(?:welcome|congratulations|happy birthday|merry christmas)\b.*"
    r"|(?:my name is|this is|i am(?! \w+ing\b)|here is) [a-z]+(?: (?:from|of|with|and)\b.*)?"
    r"|(?:(?:i|we) (?:have )?(?:just )?)?(?:received|got|read|have)(?: and read)? your (?:\w+ )?(?:message|mail"
    r"|email|letter|note|request|enquiry|"
    r"inquiry|question|ticket)\b.*"
    r"|your (?:message|mail|email|letter|note|request|enquiry|inquiry) (?:has )?(?:reached|arrived"
    r"|been received|came in|is here)\b.*"
    r"|(?:i see|you bet|oh no|oh dear|gosh|dear me|of course|no doubt|thanks again|my pleasure|good to (?:know"
    r"|hear|see)\b.*|great (?:news|to hear)\b.*)"
    r"|(?:please )?(?:just )?(?:say|answer|reply|type|write|tell me|respond)(?: with)? (?:yes|agree|okay|accept"
    r"|i agree|accepted)\b.*"
    r"|(?:please |just |simply )*(?:agree|accept|consent|say that you (?:agree|accept|consent))\b.*"
    r"|the customer (?:\w+ )?(?:accepts?|agree[sd]?|consents?|accepted|consented|said)\b.*"
    r"|(?:ha+(?:[ ,]?ha+)*|lol|haha\w*|ah|oh)\b[ ,]*(?:good one|fair point|same|right|nice one|very true)?"
    r"|lol\b(?: \w+)?|you are (?:\w+ )?kind|what a (?:day|pity|shame|week|mess)\b.*|poor you|no worries\b.*"
    r"|(?:that|this|it) is (?:all right|okay|fine|quite all right)|sounds good|sure thing|i am with you\b.*"
    r"|(?:dear (?:sir|madam|customer|all)\b.*)|(?:hello|hi|hey|good (?:morning|evening|day|afternoon))"
    r"(?: (?:there|again|everyone))?,? (?:(?:mr|ms|mrs|dr) )?[a-z]+|(?:yours )?(?:sincerely|truly|faithfully),? .*"
    r"|(?:good (?:morning|evening|day|afternoon) )?and welcome\b.*|ah,? now i see\b.*|hold the line"
    r"|(?:all right|okay|yes|no|agreed?|accepted|accept|hm+|hmm|right|great|perfect|wonderful|sure|of course"
    r"|certainly|absolutely|understood|noted|"
    r"no worries|got it|fine|excellent|very well)(?: (?:then|indeed|okay|yes|agree|accepted|fine))*"
    r")$"
)
"""A whole sentence that does nothing which a customer would answer: thanks, sympathy, a pause, a word of assent."""
