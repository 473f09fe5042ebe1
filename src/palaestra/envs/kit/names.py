"""Names, streets and towns to draw people from."""

FIRST_NAMES = (
    "Ada", "Adrian", "Aisha", "Aleksander", "Amina", "Anders", "Anneke", "Antoine", "Aylin", "Beatrix",
    "Benedikt", "Bruno", "Camille", "Carlos", "Chiara", "Daniel", "Daria", "Dmitri", "Elena", "Elif",
    "Emeka", "Emil", "Eva", "Fatima", "Felix", "Freya", "Giulia", "Grace", "Hannah", "Henrik", "Hiroshi",
    "Ines", "Ingrid", "Ivan", "Jana", "Jonas", "José", "Karim", "Katarzyna", "Kofi", "Lars", "Laura",
    "Leila", "Lukas", "Maja", "Marek", "Maria", "Matteo", "Mei", "Mia", "Mohamed", "Nadia", "Niklas",
    "Noah", "Nora", "Oksana", "Olivia", "Omar", "Paula", "Pavel", "Priya", "Rafael", "Renée", "Rosa",
    "Samuel", "Sofia", "Stefan", "Sven", "Tariq", "Thea", "Tomas", "Viktor", "Wei", "Yara", "Yusuf",
    "Zofia",
)  # fmt: skip

LAST_NAMES = (
    "Abebe", "Adeyemi", "Andersen", "Bauer", "Becker", "Bianchi", "Blanc", "Bos", "Brandt", "Chen", "Costa",
    "Dahl", "De Vries", "Demir", "Dubois", "Eriksen", "Fernandez", "Fischer", "Fontaine", "Garcia", "Haas",
    "Haddad", "Hansen", "Hofer", "Horvat", "Ivanova", "Jansen", "Kaya", "Keller", "Kim", "Klein", "Kovacs",
    "Kowalski", "Larsen", "Lefebvre", "Lindqvist", "Marino", "Martin", "Meyer", "Moreau", "Murphy", "Nagy",
    "Nakamura", "Novak", "Okafor", "Olsen", "Patel", "Pereira", "Petrov", "Popescu", "Rahman", "Ricci",
    "Rossi", "Roth", "Schmidt", "Schneider", "Silva", "Sörensen", "Tanaka", "Toth", "Vargas", "Vogel",
    "Wagner", "Weber", "Winter", "Yilmaz", "Zielinski", "Zimmer",
)  # fmt: skip

HELD_OUT_FIRST_NAMES = (
    "Abel", "Agneta", "Alma", "Amadou", "Bogdan", "Britta", "Cosima", "Dilan", "Edda", "Egon", "Esra", "Fabio",
    "Femke", "Gaspard", "Greta", "Hakan", "Ilse", "Imani", "Ismael", "Jelena", "Jorge", "Kaito", "Kerstin", "Lidia",
    "Loïc", "Magnus", "Manon", "Mirko", "Nikola", "Odile", "Orla", "Piotr", "Quentin", "Ramona", "Rasmus", "Sanna",
    "Selma", "Teresa", "Ulrike", "Vera", "Wanda", "Xenia", "Yannick", "Zeynep",
)  # fmt: skip
"""First names that no world of training has."""

HELD_OUT_LAST_NAMES = (
    "Achterberg", "Aguilar", "Almeida", "Arslan", "Baptiste", "Berger", "Caruso", "Diallo", "Dvorak", "Engel",
    "Falk", "Ferrari", "Fuchs", "Gruber", "Hakimi", "Halvorsen", "Ibanez", "Ito", "Jovanovic", "Kruse", "Laurent",
    "Leclerc", "Lund", "Maier", "Mendes", "Mertens", "Nilsson", "Nowak", "Oduya", "Ortega", "Pfeiffer", "Quist",
    "Renard", "Sato", "Steiner", "Szabo", "Thorsen", "Ulrich", "Vermeulen", "Visser", "Wolf", "Ximenez", "Young",
    "Zidane",
)  # fmt: skip
"""Last names that no world of training has."""

STREETS = (
    "Ahornweg", "Am Markt", "Bahnhofstr.", "Birkenallee", "Burgweg", "Canal Street", "Dorfstr.",
    "Eichenweg", "Feldstr.", "Gartenstr.", "Hafenstr.", "Harbour Road", "Hauptstr.", "Hillside Lane",
    "Jahnstr.", "Kirchweg", "Lerchenweg", "Lindenallee", "Marktgasse", "Mill Lane", "Mozartstr.",
    "Parkstr.", "Ringstr.", "Rosenweg", "Schulstr.", "Seeweg", "Sonnenstr.", "Station Road", "Tannenweg",
    "Uferstr.", "Waldstr.", "Wiesenweg",
)  # fmt: skip

CITIES = (
    "1010 Wien", "1012 Amsterdam", "1050 Brussels", "10115 Berlin", "20095 Hamburg", "28195 Bremen",
    "2100 Copenhagen", "30159 Hannover", "3011 Rotterdam", "4020 Linz", "40213 Düsseldorf", "50667 Köln",
    "5020 Salzburg", "60311 Frankfurt", "67000 Strasbourg", "69001 Lyon", "70173 Stuttgart",
    "80331 München", "8010 Graz", "90402 Nürnberg", "9000 Ghent", "01067 Dresden", "04109 Leipzig",
    "1855 Luxembourg",
)  # fmt: skip

MAIL_HOSTS = ("mailbox.example", "postfach.example", "inbox.example", "webmail.example")
"""Hosts that nobody owns (RFC 2606)."""
