"""A visit to the shop: a search page, pages of results, a product's page and what is told there, and one purchase."""

from collections.abc import Sequence

from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireCheck,
    WireOpening,
    WireReply,
    WireResult,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    run_until,
    tool,
)
from palaestra.benchmarks.external.webshop.served.catalogue import Catalogue, Goal, WebShopProduct
from palaestra.benchmarks.external.webshop.served.reward import Similar, Worth, worth
from palaestra.benchmarks.external.webshop.served.search import Index

BUY, BACK, NEXT, PREV = "Buy Now", "Back to Search", "Next >", "< Prev"
TOLD = ("Description", "Features", "Reviews")
_FOUND, _PAGE = 50, 10
"""Products that a search finds, and how many a page shows."""
_MOST = 500
"""Characters of a search."""
_TOOLS = (
    tool("search", "Search the shop.", {"keywords": {"type": "string"}}),
    tool("click", "Click one of the things that the page says can be clicked.", {"what": {"type": "string"}}),
)
_SYSTEM = (
    "You are in a web shop, to buy the product that is described. Search, click a product to see it, click its options"
    f" to choose them, and click '{BUY}' once: that ends the task."
)


class WebShopEpisode:
    """One visit."""

    def __init__(self, catalogue: Catalogue, index: Index, goal: Goal, similar: Similar) -> None:
        self._catalogue, self._index, self._goal, self._similar = catalogue, index, goal, similar
        self._found: list[str] = []
        self._page = 0
        self._shown: WebShopProduct | None = None
        self._told: str | None = None
        self._chosen: dict[str, str] = {}
        self._worth: Worth | None = None

    def opening(self) -> WireOpening:
        """What is wanted, and the search page."""
        goal = self._goal
        parts = len(goal.attributes) + len(goal.options) + 1
        attributes, options = 100 * len(goal.attributes) // parts, 100 * len(goal.options) // parts
        criteria = (
            ("kind", "it is the kind of product that was asked for", 0),
            ("attributes", "it has every attribute", attributes),
            ("options", "every option was chosen", options),
            ("price", "its price is within the limit", 100 - attributes - options),
        )
        return {
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": f"{goal.instruction}\n\n{self._view()}"},
            ],
            "tools": list(_TOOLS),
            "criteria": [{"id": i, "text": text, "kind": "expect", "points": points} for i, text, points in criteria],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Search and click."""
        del prose
        results = run_until(lambda: self._worth is not None, self._act, calls)
        return reply(results, points=self._points(), end="finished" if self._worth else None)

    def _act(self, call: WireCall) -> WireResult:
        if call["tool"] == "search":
            return self._search(call["arguments"].get("keywords"))
        if call["tool"] == "click":
            return self._click(call["arguments"].get("what"))
        return refusal_result(f"there is no tool {call['tool']!r}; there are search and click", "unknown_tool")

    def _search(self, keywords: object) -> WireResult:
        if not isinstance(keywords, str) or not keywords.strip() or len(keywords) > _MOST:
            return refusal_result(f"keywords is a text of 1 to {_MOST} characters", "invalid_arguments")
        self._found = self._index.find(keywords, _FOUND)
        self._results(1)
        return answer_result(self._view())

    def _click(self, what: object) -> WireResult:
        if not isinstance(what, str):
            return refusal_result("what is a text", "invalid_arguments")
        known = {name.lower(): name for name in self.clickable()}
        name = known.get(what.strip().lower())
        if name is None:
            return refusal_result(f"there is no {what[:100]!r} to click here; there are: {', '.join(known.values())}")
        self._click_button(name)
        return answer_result("The purchase was made." if self._worth else self._view())

    def clickable(self) -> list[str]:
        """What can be clicked on the page."""
        if self._told is not None:
            return [BACK, PREV]
        if self._shown is not None:
            return [BACK, PREV, *TOLD, BUY, *(value for values in self._shown.options.values() for value in values)]
        if not self._page:
            return []
        more = [NEXT] if self._page * _PAGE < len(self._found) else []
        return [BACK, *more, *([PREV] if self._page > 1 else []), *self._list_page()]

    def _click_button(self, name: str) -> None:
        if name == BACK:
            self._found, self._page, self._shown, self._told, self._chosen = [], 0, None, None, {}
        elif name == NEXT:
            self._results(self._page + 1)
        elif name == PREV and self._told is not None:
            self._told = None
        elif name == PREV:
            self._results(self._page if self._shown else self._page - 1)
        elif self._shown is None:
            self._shown = self._catalogue.products[name]
        elif name in TOLD:
            self._told = name
        elif name == BUY:
            described = self._catalogue.products[self._goal.asin]
            self._worth = worth(self._shown, list(self._chosen.values()), self._goal, described, self._similar)
        else:
            option = next(option for option, values in self._shown.options.items() if name in values)
            self._chosen[option] = name

    def _results(self, page: int) -> None:
        self._page, self._shown, self._told, self._chosen = page, None, None, {}

    def _list_page(self) -> list[str]:
        return self._found[(self._page - 1) * _PAGE : self._page * _PAGE]

    def _view(self) -> str:
        lines = self._lines()
        if self.clickable():
            lines.append("You can click: " + " | ".join(self.clickable()))
        return "\n".join(lines)

    def _lines(self) -> list[str]:
        if self._shown is None:
            if not self._page:
                return ["The search page."]
            products = [self._catalogue.products[asin] for asin in self._list_page()]
            listed = [f"{product.asin}: {product.name}, {product.price_tag}" for product in products]
            return [f"Page {self._page} of the results, {len(self._found)} in all", *listed]
        product = self._shown
        if self._told is not None:
            told = {"Description": product.description, "Features": "\n".join(product.features), "Reviews": "none"}
            return [f"{self._told} of {product.asin}:", told[self._told]]
        options = [
            f"{name}: {', '.join(f'[{value}]' if self._chosen.get(name) == value else value for value in values)}"
            for name, values in product.options.items()
        ]
        return [product.name, f"Price: {product.price_tag}", *options]

    def _points(self) -> int:
        return round(100 * self._worth.total) if self._worth else 0

    def verdict(self, end: str) -> WireVerdict:
        """The paper's reward; solved is all of it."""
        del end
        found, goal = self._worth, self._goal
        if found is None:
            nothing: WireCheck = {"met": False, "reason": "nothing was bought"}
            names = ("kind", "attributes", "options", "price")
            return {"points": 0, "passed": False, "criteria": dict.fromkeys(names, nothing)}
        return {
            "points": self._points(),
            "passed": found.total == 1.0,
            "criteria": {
                "kind": {"met": found.kind == 1.0, "reason": f"r_type {found.kind:g}"},
                "attributes": _all(found.attributes, len(goal.attributes)),
                "options": _all(found.options, len(goal.options)),
                "price": {"met": found.price, "reason": f"the limit is {goal.price_limit:g}"},
            },
        }

    def gold(self) -> list[WireTurn] | None:
        """The described product, found by its own name, with the options that were asked for."""
        beside = WebShopEpisode(self._catalogue, self._index, self._goal, self._similar)
        described = self._catalogue.products[self._goal.asin]
        calls: list[WireCall] = [{"tool": "search", "arguments": {"keywords": described.name[:_MOST]}}]
        beside.turn(calls, "")
        while described.asin not in beside.clickable():
            if NEXT not in beside.clickable():
                return None
            calls.append(_clicking(NEXT))
            beside.turn(calls[-1:], "")
        values = [value for values in described.options.values() for value in values]
        wanted = [max(values, key=lambda v: self._similar(v, option)) for option in self._goal.options if values]
        calls += map(_clicking, [described.asin, *wanted, BUY])
        return [{"calls": [call], "prose": ""} for call in calls]

    def legal(self, draw: int) -> WireTurn | None:
        """A click, or a search for words of what is wanted."""
        choices = self.clickable()
        words = self._goal.instruction.split()
        if not choices or draw % 5 == 0:
            start = draw // 5 % len(words)
            return {
                "calls": [{"tool": "search", "arguments": {"keywords": " ".join(words[start : start + 4])}}],
                "prose": "",
            }
        return {"calls": [_clicking(choices[draw // 5 % len(choices)])], "prose": ""}

    def state(self) -> str:
        """The page, what was chosen on it, and whether something was bought."""
        shown = self._shown.asin if self._shown else None
        return repr((self._found, self._page, shown, self._told, sorted(self._chosen.items()), self._worth))

    def close(self) -> None:
        """Nothing is held."""


def _all(met: int, wanted: int) -> WireCheck:
    return {"met": met == wanted, "reason": f"{met} of {wanted}"}


def _clicking(what: str) -> WireCall:
    return {"tool": "click", "arguments": {"what": what}}
