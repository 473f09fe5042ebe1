"""What stands around a held-out request: voices of customers, in four languages, and of colleagues.

Nothing here names an id, a day, an amount, an order, a product or an address, nothing speaks of a move, and nothing
asks for an action.
"""

from palaestra.envs.kit.letters import Surroundings, Voice

_POLITE = Voice(
    greetings=(
        "Dear support,", "Good morning,", "Good afternoon,", "Dear Sir or Madam,", "Hello to all of you,",
        "To whom it may concern:", "Dear shop,", "Good day to you,",
    ),
    histories=(
        "First of all, my compliments on the new look of your shop.",
        "Your colleague on the phone was kind but could only point me to this mailbox.",
        "I have been a customer ever since my first PC, and you have never let me down.",
        "Last winter somebody of your team spent half an hour with me on the choice of a monitor arm.",
        "A friend recommended you years ago, and I have passed that on many times.",
        "The keyboard I type this on came from you before the pandemic and has outlived two desks.",
        "I used to run a small repair corner myself, so I know what lands in an inbox like yours.",
        "Forgive me if this went to the wrong department at first.",
        "My wife usually does our correspondence, but she is travelling this month.",
        "I looked through your help pages before bothering you and did not find my case.",
    ),
    closings=(
        "Many thanks for looking into it.", "With kind regards", "Yours faithfully",
        "Thank you for the time you take.", "I appreciate your help.", "Best wishes to the team",
        "Thanks in advance, and have a calm shift.", "Looking forward to a short answer",
    ),
)  # fmt: skip

_CHATTY = Voice(
    greetings=(
        "Hi folks!", "Hello hello,", "Hey team,", "Hi, me again!", "Hello from a rainy balcony!",
        "Hiya,", "Well, hello there.", "Hi! Long-time lurker, first-time writer.",
    ),
    histories=(
        "Quick bit of history: the PC you sold my brother still runs our family server in the basement.",
        "My flatmate and I have been arguing about cable management all evening, which is beside the point.",
        "Years back I bought a mouse from you whose wheel still squeaks, and I love it for that.",
        "The cat has decided to sit on the keyboard, so expect a stray letter or two.",
        "I had a whole story ready about how our LAN party went, but I will spare you.",
        "We are repainting the kitchen this week, so excuse the smell of turpentine.",
        "My daughter built her first computer this spring and now thinks she knows everything.",
        "Three coffees in and I am finally getting round to my mailbox.",
        "I moderate a little forum on retro hardware, and your name comes up there a lot.",
        "A mate of mine swears by the telephone, but I prefer to have things in writing.",
    ),
    closings=(
        "You are stars, cheers!", "Ta very much.", "Right, back to work for me.", "Have a good one!",
        "Cheers from all of us here.", "Thanks a million.", "Over and out.", "Hugs to the night shift.",
    ),
)  # fmt: skip

_TERSE = Voice(
    greetings=("Hello.", "Hi.", "Support team:", "Short one.", "Keeping this brief."),
    histories=(
        "Typing on my phone.", "In a meeting, so no calls.", "I tried the chat; it was closed.",
        "Sent from the train.", "Second language, sorry.", "No need for a long answer.",
    ),
    closings=("Thx.", "That is all.", "Regards", "Thank you.", "Bye.", "Done."),
)  # fmt: skip

_GERMAN = Voice(
    language="de",
    subjects=("Bitte um Hilfe", "Kurze Frage", "Eine Bitte an Sie", "Mein Anliegen"),
    greetings=("Guten Tag,", "Hallo zusammen,", "Sehr geehrte Damen und Herren,", "Moin,", "Servus,"),
    histories=(
        "Mein Englisch ist etwas eingerostet, ich hoffe, man versteht mich.",
        "Ich bin schon lange Kunde bei Ihnen und war immer zufrieden.",
        "Am Telefon war leider niemand zu erreichen.",
        "Meine Tochter hat mir beim Schreiben geholfen.",
        "Vor Jahren habe ich bei Ihnen einen Drucker gekauft, der läuft heute noch.",
    ),
    closings=(
        "Mit freundlichen Grüßen", "Vielen Dank im Voraus!", "Schöne Grüße aus dem Norden", "Danke und bis bald",
        "Herzlichen Dank für die Mühe.",
    ),
)  # fmt: skip

_FRENCH = Voice(
    language="fr",
    subjects=("Une petite demande", "Votre aide, s'il vous plaît", "Un mot pour vous", "Bonjour à vous"),
    greetings=("Bonjour,", "Bonjour à toute l'équipe,", "Madame, Monsieur,", "Salut,", "Rebonjour,"),
    histories=(
        "Excusez mon anglais, je fais de mon mieux.",
        "Je suis cliente chez vous depuis longtemps.",
        "J'ai essayé de vous appeler, mais la ligne était occupée.",
        "Mon mari m'a dit de vous écrire directement.",
        "Il y a quelques années, vous m'aviez très bien conseillée pour un clavier.",
    ),
    closings=(
        "Merci d'avance.", "Bien cordialement", "Merci beaucoup et bonne journée !", "Avec mes salutations",
        "Je vous remercie de votre aide.",
    ),
)  # fmt: skip

_SPANISH = Voice(
    language="es",
    subjects=("Consulta", "Una petición", "Su ayuda, por favor", "Unas líneas para ustedes"),
    greetings=("Buenos días,", "Hola,", "Estimados señores:", "Buenas tardes,", "Hola a todos,"),
    histories=(
        "Perdonen mi inglés, lo estoy aprendiendo.",
        "Llevo muchos años comprando en su tienda.",
        "Nadie contestó el teléfono esta mañana.",
        "Mi hermano me recomendó escribirles por aquí.",
        "Hace tiempo les compré un ratón que todavía funciona de maravilla.",
    ),
    closings=(
        "Muchas gracias de antemano.", "Un saludo", "Saludos cordiales", "Gracias por todo.",
        "Quedo a la espera, gracias.",
    ),
)  # fmt: skip

CUSTOMERS = Surroundings(
    subjects=(
        "A word with you", "Hello", "Could somebody have a look?", "Quick message", "About something I bought",
        "Small matter", "For the support team", "Question and request", "One thing, please", "Need a hand",
        "Hi there", "Regarding my account with you", "Customer message", "Following up",
        "Not urgent, but please read", "As discussed with nobody yet", "Help", "Writing instead of calling",
        "(no subject)", "From a regular customer", "Something came up", "Please read", "Service",
        "My shopping with you",
    ),
    voices=((_POLITE, 30), (_CHATTY, 26), (_TERSE, 16), (_GERMAN, 10), (_FRENCH, 9), (_SPANISH, 9)),
    asides=(
        "I also meant to ask about your opening hours, but I have found them on the website since.",
        "Whoever answers the chat on Sundays was a great help to me once.",
        "I had wondered how to leave your newsletter, too, but the link at its foot did it.",
        "And I wanted to know whether you have a shop in town; a neighbour tells me that you do not, so never mind.",
        "Besides, your last survey would not open for me; somebody has mended that by now, so no answer needed.",
        "My other question, how to change my password, has settled itself.",
        "By the way, the new search on your site is a pleasure to use.",
        "On another note: good luck with the charity run that your team has signed up for.",
        "I was going to suggest a dark theme for your site as well, and then I saw the switch for it.",
        "The handwritten notes on your boxes make us smile every time.",
        "There was a typing error in your last newsletter, which I mention only because it made my day.",
        "I asked on the phone once whether you plan a loyalty card; your colleague answered that, so it is settled.",
    ),
)  # fmt: skip

_COLLEAGUE = Voice(
    greetings=("Hi support,", "Hello colleagues,", "Good morning upstairs,", "Hi all,", "Warehouse here."),
    histories=(
        "The scanner at gate two is working again, thanks to everybody who pushed for it.",
        "We are two people short this week, so this comes by mail and not in person.",
        "The forklift course is over, and all of us passed.",
        "Stocktaking kept us busy until late yesterday.",
    ),
    closings=("Thanks, and see you in the canteen.", "Regards from downstairs", "Cheers, the warehouse", "Thank you!"),
)

COLLEAGUES = Surroundings(
    subjects=(
        "From the warehouse", "For support", "Please take over", "Heads-up from downstairs", "Action needed",
        "Something for your desk", "Passing this on",
    ),
    voices=((_COLLEAGUE, 1),),
    asides=(
        "The missing trolley has turned up, so nobody needs to look for it.",
        "The cake that came down last week was excellent, by the way.",
        "The question about the new labels is settled; the printer is set up.",
    ),
)  # fmt: skip
