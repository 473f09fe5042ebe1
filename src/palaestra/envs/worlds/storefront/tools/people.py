"""Tools about customers, colleagues and the handbook: reading them."""

from palaestra.envs.kit import get_tool, handbook_tools, list_tool, search_tool
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Employee

TOOLS = (
    search_tool(
        Customer,
        "Find customers by words of their name, e-mail address or city. At most ten are listed at a time.",
        query_text='Words that must all occur, such as "ana lyon" or an e-mail address.',
        summary=("name", "email", "city"),
    ),
    get_tool(
        Customer,
        "Show a customer's account: contact, address, tier, store credit, fraud hold.",
        example="CUS-1042",
    ),
    list_tool(Credit, Customer, "List the store credit that a customer was given, and why."),
    search_tool(
        Employee,
        "List colleagues, with what they may approve and whether they are on leave.",
        filters=(("team", "Only this team."), ("rank", "Only this rank.")),
        summary=("name", "team", "rank", "approval_limit_cents", "on_leave"),
    ),
    *handbook_tools(number="RET-1", words="restocking fee"),
)
