"""What the shop may carry: brands, models, specifications and list prices in whole euros, all invented.

A world takes most of these, in an order, at prices and with a stock of its own (`catalog.py`).
"""

from dataclasses import dataclass

from palaestra.envs.worlds.storefront.schema import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class Ware:
    """One model. The fields are those of `Product`; what means nothing for the category is empty or zero."""

    category: Category
    brand: str
    model: str
    euros: int
    watts: int = 0
    socket: str = ""
    memory_type: str = ""
    form_factor: str = ""
    length_mm: int = 0
    warranty_months: int = 24


def _cpu(brand: str, model: str, socket: str, watts: int, euros: int) -> Ware:
    return Ware(
        category="cpu",
        brand=brand,
        model=f"{model} ({socket})",
        euros=euros,
        socket=socket,
        watts=watts,
        warranty_months=36,
    )


def _board(brand: str, model: str, fits: str, euros: int) -> Ware:
    socket, memory, form = fits.split()
    return Ware(
        category="motherboard",
        brand=brand,
        model=f"{model} {form} ({socket}, {memory})",
        euros=euros,
        socket=socket,
        memory_type=memory,
        form_factor=form,
        watts={"ATX": 50, "mATX": 40, "ITX": 30}[form],
        warranty_months=36,
    )


def _memory(brand: str, model: str, gigabytes: int, kind: str, euros: int) -> Ware:
    return Ware(
        category="memory",
        brand=brand,
        model=f"{model} {gigabytes} GB {kind}",
        euros=euros,
        memory_type=kind.partition("-")[0],
        watts=6 if gigabytes <= 16 else 12,
        warranty_months=60,
    )


def _gpu(brand: str, model: str, watts: int, length_mm: int, euros: int) -> Ware:
    return Ware(category="gpu", brand=brand, model=model, euros=euros, watts=watts, length_mm=length_mm)


def _storage(brand: str, model: str, watts: int, euros: int) -> Ware:
    return Ware(category="storage", brand=brand, model=model, euros=euros, watts=watts, warranty_months=36)


def _psu(brand: str, model: str, watts: int, euros: int) -> Ware:
    return Ware(
        category="psu",
        brand=brand,
        model=f"{model} {watts} W",
        euros=euros,
        watts=watts,
        warranty_months=60,
    )


def _case(brand: str, model: str, form: str, length_mm: int, euros: int) -> Ware:
    return Ware(
        category="case",
        brand=brand,
        model=f"{model} {form}",
        euros=euros,
        form_factor=form,
        length_mm=length_mm,
    )


def _cooler(brand: str, model: str, sockets: str, watts: int, euros: int) -> Ware:
    return Ware(category="cooler", brand=brand, model=model, euros=euros, socket=sockets, watts=watts)


def _monitor(brand: str, model: str, euros: int) -> Ware:
    return Ware(category="monitor", brand=brand, model=model, euros=euros, warranty_months=36)


def _keyboard(brand: str, model: str, euros: int) -> Ware:
    return Ware(category="keyboard", brand=brand, model=model, euros=euros)


def _mouse(brand: str, model: str, euros: int) -> Ware:
    return Ware(category="mouse", brand=brand, model=model, euros=euros, warranty_months=12)


_AMD = "AM4 AM5"
_INTEL = "LGA1700 LGA1851"
_BOTH = "AM4 AM5 LGA1700 LGA1851"

WARES: tuple[Ware, ...] = (
    _cpu("Orvane", "Rhex 5 5500, 6 cores", "AM4", 65, 85),
    _cpu("Orvane", "Rhex 5 5600, 6 cores", "AM4", 65, 119),
    _cpu("Orvane", "Rhex 7 5700X, 8 cores", "AM4", 65, 159),
    _cpu("Orvane", "Rhex 7 5800XD, 8 cores", "AM4", 105, 259),
    _cpu("Orvane", "Rhex 9 5900X, 12 cores", "AM4", 105, 289),
    _cpu("Orvane", "Rhex 5 9600, 6 cores", "AM5", 65, 199),
    _cpu("Orvane", "Rhex 5 9600X, 6 cores", "AM5", 105, 249),
    _cpu("Orvane", "Rhex 7 9700X, 8 cores", "AM5", 105, 339),
    _cpu("Orvane", "Rhex 7 9800XD, 8 cores", "AM5", 120, 489),
    _cpu("Orvane", "Rhex 9 9900X, 12 cores", "AM5", 170, 449),
    _cpu("Orvane", "Rhex 9 9950XD, 16 cores", "AM5", 170, 689),
    _cpu("Calyx", "Stratum 3 1410, 4 cores", "LGA1700", 60, 115),
    _cpu("Calyx", "Stratum 5 1440, 10 cores", "LGA1700", 65, 179),
    _cpu("Calyx", "Stratum 5 1460K, 14 cores", "LGA1700", 125, 269),
    _cpu("Calyx", "Stratum 7 1470K, 20 cores", "LGA1700", 190, 389),
    _cpu("Calyx", "Stratum 5 2250, 10 cores", "LGA1851", 65, 189),
    _cpu("Calyx", "Stratum 5 2450K, 14 cores", "LGA1851", 125, 289),
    _cpu("Calyx", "Stratum 7 2650K, 20 cores", "LGA1851", 150, 379),
    _cpu("Calyx", "Stratum 9 2850K, 24 cores", "LGA1851", 200, 589),
    _board("Tarkus", "B550 Field", "AM4 DDR4 ATX", 129),
    _board("Tarkus", "B550M Field", "AM4 DDR4 mATX", 99),
    _board("Hollin", "A520M Entry", "AM4 DDR4 mATX", 65),
    _board("Hollin", "B550I Pocket", "AM4 DDR4 ITX", 149),
    _board("Tarkus", "X870 Summit", "AM5 DDR5 ATX", 319),
    _board("Tarkus", "B850 Field", "AM5 DDR5 ATX", 199),
    _board("Hollin", "B850M Works", "AM5 DDR5 mATX", 159),
    _board("Hollin", "A620M Entry", "AM5 DDR5 mATX", 89),
    _board("Brontes", "B850I Pocket", "AM5 DDR5 ITX", 239),
    _board("Brontes", "X870E Anvil", "AM5 DDR5 ATX", 459),
    _board("Tarkus", "B760 Field D4", "LGA1700 DDR4 ATX", 139),
    _board("Hollin", "H610M Entry D4", "LGA1700 DDR4 mATX", 75),
    _board("Tarkus", "B760 Field", "LGA1700 DDR5 ATX", 159),
    _board("Brontes", "Z790 Anvil", "LGA1700 DDR5 ATX", 289),
    _board("Hollin", "B760I Pocket", "LGA1700 DDR5 ITX", 179),
    _board("Tarkus", "Z890 Summit", "LGA1851 DDR5 ATX", 349),
    _board("Tarkus", "B860 Field", "LGA1851 DDR5 ATX", 189),
    _board("Hollin", "B860M Works", "LGA1851 DDR5 mATX", 149),
    _board("Hollin", "H810M Entry", "LGA1851 DDR5 mATX", 95),
    _board("Brontes", "B860I Pocket", "LGA1851 DDR5 ITX", 219),
    _memory("Kestrel", "Bolt", 8, "DDR4-3200", 24),
    _memory("Kestrel", "Bolt", 16, "DDR4-3200", 39),
    _memory("Kestrel", "Bolt", 32, "DDR4-3600", 72),
    _memory("Sable", "Quiet", 16, "DDR4-3200", 36),
    _memory("Sable", "Quiet", 32, "DDR4-3200", 65),
    _memory("Sable", "Quiet", 64, "DDR4-3200", 129),
    _memory("Kestrel", "Arc", 16, "DDR5-5600", 62),
    _memory("Kestrel", "Arc", 32, "DDR5-6000", 109),
    _memory("Kestrel", "Arc Pro", 64, "DDR5-6000", 219),
    _memory("Kestrel", "Arc Pro", 96, "DDR5-6400", 339),
    _memory("Sable", "Low", 16, "DDR5-4800", 55),
    _memory("Sable", "Low", 32, "DDR5-5600", 95),
    _memory("Sable", "Low", 64, "DDR5-5600", 189),
    _memory("Peregrin", "Dive", 32, "DDR5-7200", 159),
    _memory("Peregrin", "Dive", 48, "DDR5-7200", 229),
    _gpu("Nimbra", "GV 410 6 GB", 75, 169, 149),
    _gpu("Nimbra", "GV 550 8 GB", 115, 200, 259),
    _gpu("Nimbra", "GV 560 8 GB", 130, 228, 309),
    _gpu("Nimbra", "GV 560 Plus 16 GB", 160, 245, 419),
    _gpu("Nimbra", "GV 570 12 GB", 200, 267, 579),
    _gpu("Nimbra", "GV 570 Plus 16 GB", 250, 304, 799),
    _gpu("Nimbra", "GV 580 16 GB", 320, 329, 1099),
    _gpu("Nimbra", "GV 580 Aurora 16 GB", 340, 348, 1249),
    _gpu("Nimbra", "GV 590 32 GB", 575, 357, 2299),
    _gpu("Nimbra", "GV 590 Aurora 32 GB", 575, 366, 2549),
    _gpu("Rhodon", "Vega 7400 6 GB", 95, 178, 169),
    _gpu("Rhodon", "Vega 7600 8 GB", 165, 240, 269),
    _gpu("Rhodon", "Vega 7700 12 GB", 190, 272, 449),
    _gpu("Rhodon", "Vega 7800 16 GB", 245, 287, 549),
    _gpu("Rhodon", "Vega 7900 16 GB", 260, 299, 649),
    _gpu("Rhodon", "Vega 7900 X 20 GB", 304, 320, 759),
    _gpu("Rhodon", "Vega 7950 XL 24 GB", 355, 337, 989),
    _storage("Corvus", "N3 SSD 500 GB", 5, 39),
    _storage("Corvus", "N3 SSD 1 TB", 5, 59),
    _storage("Corvus", "N3 SSD 2 TB", 6, 109),
    _storage("Corvus", "N5 SSD 1 TB", 8, 95),
    _storage("Corvus", "N5 SSD 2 TB", 8, 169),
    _storage("Corvus", "N5 SSD 4 TB", 9, 329),
    _storage("Alder", "S2 SATA SSD 1 TB", 4, 65),
    _storage("Alder", "S2 SATA SSD 2 TB", 4, 119),
    _storage("Alder", "Swift SSD 1 TB", 6, 69),
    _storage("Alder", "Swift SSD 2 TB", 7, 125),
    _storage("Alder", "Depot HDD 4 TB", 7, 99),
    _storage("Alder", "Depot HDD 8 TB", 8, 179),
    _storage("Alder", "Depot HDD 16 TB", 9, 299),
    _psu("Voltara", "Base", 450, 45),
    _psu("Voltara", "Base", 550, 55),
    _psu("Voltara", "Base", 650, 69),
    _psu("Voltara", "Gold", 650, 95),
    _psu("Voltara", "Gold", 750, 109),
    _psu("Voltara", "Gold", 850, 129),
    _psu("Voltara", "Gold", 1000, 169),
    _psu("Voltara", "Platinum", 1200, 249),
    _psu("Umbra", "Hush", 500, 62),
    _psu("Umbra", "Hush", 600, 79),
    _psu("Umbra", "Hush", 750, 119),
    _psu("Umbra", "Hush", 1000, 189),
    _psu("Umbra", "Titan", 1300, 319),
    _psu("Umbra", "Titan", 1600, 419),
    _case("Fjell", "Compact", "ITX", 240, 79),
    _case("Fjell", "Compact Glass", "ITX", 315, 119),
    _case("Fjell", "Cube", "mATX", 280, 69),
    _case("Fjell", "Cube Air", "mATX", 330, 85),
    _case("Fjell", "Tower", "ATX", 360, 99),
    _case("Fjell", "Tower Air", "ATX", 380, 129),
    _case("Fjell", "Tower XL", "ATX", 430, 189),
    _case("Quarz", "One", "ATX", 270, 49),
    _case("Quarz", "One M", "mATX", 255, 45),
    _case("Quarz", "Two", "ATX", 310, 65),
    _case("Quarz", "Two Glass", "ATX", 340, 89),
    _case("Quarz", "Three", "ATX", 390, 115),
    _case("Quarz", "Nano", "ITX", 290, 95),
    _case("Umbra", "Silent Box", "ATX", 369, 149),
    _cooler("Boreas", "Puck", _AMD, 3, 25),
    _cooler("Boreas", "Puck I", _INTEL, 3, 25),
    _cooler("Boreas", "Tower 120", _BOTH, 3, 39),
    _cooler("Boreas", "Tower 120 Dual", _BOTH, 5, 49),
    _cooler("Boreas", "Tower 140 A", _AMD, 4, 59),
    _cooler("Boreas", "Tower 140 I", _INTEL, 4, 59),
    _cooler("Boreas", "Low 47", "AM5 LGA1851", 3, 55),
    _cooler("Umbra", "Rock A", "AM4", 3, 35),
    _cooler("Umbra", "Rock I", "LGA1700", 3, 35),
    _cooler("Umbra", "Rock Pro", _BOTH, 6, 89),
    _cooler("Lacus", "Flow 240", _BOTH, 12, 95),
    _cooler("Lacus", "Flow 280", "AM5 LGA1851", 14, 119),
    _cooler("Lacus", "Flow 360", _BOTH, 18, 145),
    _cooler("Lacus", "Flow 360 Aurora", "AM5 LGA1851", 20, 199),
    _monitor("Lumeo", 'Desk 24" 1920x1080 75 Hz', 99),
    _monitor("Lumeo", 'Desk 27" 1920x1080 100 Hz', 129),
    _monitor("Lumeo", 'Desk Pro 27" 2560x1440 75 Hz', 219),
    _monitor("Lumeo", 'Desk Pro 32" 3840x2160 60 Hz', 379),
    _monitor("Lumeo", 'Studio 27" 3840x2160 60 Hz', 549),
    _monitor("Vantix", 'Rush 24" 1920x1080 165 Hz', 149),
    _monitor("Vantix", 'Rush 27" 2560x1440 180 Hz', 259),
    _monitor("Vantix", 'Rush OLED 27" 2560x1440 240 Hz', 649),
    _monitor("Vantix", 'Wide 34" 3440x1440 165 Hz', 399),
    _monitor("Vantix", 'Wide OLED 34" 3440x1440 240 Hz', 899),
    _monitor("Vantix", 'Wall 49" 5120x1440 144 Hz', 1099),
    _keyboard("Tappio", "Office wired keyboard", 19),
    _keyboard("Tappio", "Office wireless keyboard", 35),
    _keyboard("Tappio", "Slim backlit keyboard", 49),
    _keyboard("Klack", "K65 mechanical keyboard, red switches", 79),
    _keyboard("Klack", "K75 mechanical keyboard, brown switches", 95),
    _keyboard("Klack", "K100 mechanical keyboard, blue switches", 109),
    _keyboard("Klack", "K75 Pro hot-swap keyboard", 149),
    _keyboard("Nord Tangent", "Split ergonomic keyboard", 189),
    _keyboard("Vantix", "Rush 60 gaming keyboard", 69),
    _keyboard("Vantix", "Rush TKL gaming keyboard", 119),
    _mouse("Tappio", "Office wired mouse", 12),
    _mouse("Tappio", "Office wireless mouse", 22),
    _mouse("Tappio", "Silent travel mouse", 29),
    _mouse("Nord Tangent", "Vertical ergonomic mouse", 59),
    _mouse("Nord Tangent", "Trackball", 69),
    _mouse("Klack", "M1 lightweight mouse", 49),
    _mouse("Klack", "M1 Pro wireless mouse", 89),
    _mouse("Vantix", "Rush gaming mouse", 39),
    _mouse("Vantix", "Rush Air gaming mouse", 79),
    _mouse("Vantix", "Rush Elite gaming mouse", 129),
)
"""Every model; a model's brand and name together are unique."""
