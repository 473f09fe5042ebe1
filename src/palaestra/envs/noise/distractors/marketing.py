"""Marketing: texts and the arithmetic of campaigns."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.noise.distractors.arguments import Few, Label
from palaestra.tools import ToolContext, tool

_Many = Annotated[int, Field(ge=1, le=10_000_000)]


@tool()
def click_through_rate(context: ToolContext, impressions: _Many, clicks: Annotated[int, Field(ge=0)]) -> object:
    """Compute the click-through rate of an advertisement.

    Args:
        impressions: How often it was shown.
        clicks: How often it was clicked.
    """
    del context
    return {"per_ten_thousand": 10_000 * clicks // impressions}


@tool()
def campaign_budget(context: ToolContext, days: Few, daily_cents: _Many) -> object:
    """Compute what an advertising campaign costs, with the agency's share.

    Args:
        days: How long it runs.
        daily_cents: What is spent a day.
    """
    del context
    media = days * daily_cents
    return {"media_cents": media, "agency_cents": media * 12 // 100}


@tool()
def newsletter_subject(context: ToolContext, topic: Label, tone: Literal["plain", "cheerful"]) -> object:
    """Propose a subject line for a newsletter.

    Args:
        topic: What it is about.
        tone: How it should sound.
    """
    del context
    return {"subject": f"News about {topic}" if tone == "plain" else f"{topic}: you will like this!"}


@tool()
def hashtags_for(context: ToolContext, words: list[Label]) -> object:
    """Turn words into hashtags.

    Args:
        words: The words.
    """
    del context
    return {"hashtags": ["#" + "".join(part.capitalize() for part in word.split()) for word in words]}


@tool()
def survey_sample_size(
    context: ToolContext, population: _Many, error_percent: Annotated[int, Field(ge=1, le=20)]
) -> object:
    """Say how many answers a market survey needs, at 95 % confidence.

    Args:
        population: How many people there are to ask.
        error_percent: The margin of error, in percent.
    """
    del context
    unlimited = 9_604 // (error_percent * error_percent)
    return {"answers": max(1, unlimited * population // (unlimited + population))}


@tool()
def trade_fair_checklist(context: ToolContext, stand_square_metres: Few) -> object:
    """List what a stand at a trade fair needs.

    Args:
        stand_square_metres: The stand's area.
    """
    del context
    return {"staff": 1 + stand_square_metres // 12, "items": ["roll-ups", "brochures", "card reader", "power strip"]}


TOOLS = (
    click_through_rate,
    campaign_budget,
    newsletter_subject,
    hashtags_for,
    survey_sample_size,
    trade_fair_checklist,
)
