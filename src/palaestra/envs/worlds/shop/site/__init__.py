"""The shop's web site: pages that a customer would use, in place of the generated ones."""

from palaestra.envs.surfaces.pages.generated import DO, REVIEW
from palaestra.envs.surfaces.pages.routes import ANY_STEP, Route
from palaestra.envs.worlds.shop.site.account import (
    ERRANDS,
    LINES,
    ORDERS,
    RETURNS,
    TERMS_LIST,
    draw_account,
    draw_errand,
    draw_order,
)
from palaestra.envs.worlds.shop.site.basket import STEPS, draw_basket, draw_review, draw_step, look_up_basket
from palaestra.envs.worlds.shop.site.forms import PLAIN_FORMS, REVIEWED_FORMS, draw_form, draw_form_review
from palaestra.envs.worlds.shop.site.home import NAVIGATION, draw_home
from palaestra.envs.worlds.shop.site.lists import draw_rows, look_up_rows
from palaestra.envs.worlds.shop.site.search import draw_article, draw_product, draw_search, draw_voucher
from palaestra.envs.worlds.shop.tools import place_order
from palaestra.envs.worlds.storefront.site.handbook import draw_section

__all__ = ["NAVIGATION", "REVIEWED", "SHOP_SITE"]

SHOP_SITE = (
    Route(pattern=(), draw=draw_home),
    Route(pattern=("variants",), draw=draw_search, look_up=look_up_rows("variants")),
    Route(pattern=("variants", ANY_STEP), draw=draw_article),
    Route(pattern=("products", ANY_STEP), draw=draw_product),
    Route(pattern=("promotions", ANY_STEP), draw=draw_voucher),
    Route(pattern=("basket",), draw=draw_basket, look_up=look_up_basket),
    Route(pattern=("customers", ANY_STEP), draw=draw_account),
    Route(pattern=("orders", ANY_STEP), draw=draw_order),
    Route(pattern=("errands", ANY_STEP), draw=draw_errand),
    Route(pattern=("handbook", ANY_STEP), draw=draw_section),
    *(
        Route(pattern=(one.table,), draw=draw_rows(one), look_up=look_up_rows(one.table))
        for one in (ORDERS, LINES, RETURNS, ERRANDS, TERMS_LIST)
    ),
    *(Route(pattern=(DO, step.tool.name), draw=draw_step(step)) for step in STEPS),
    Route(pattern=(DO, place_order.name), draw=draw_review),
    *(Route(pattern=(DO, form.tool.name), draw=draw_form(form, reviewed=False)) for form in PLAIN_FORMS),
    *(Route(pattern=(DO, form.tool.name), draw=draw_form(form, reviewed=True)) for form in REVIEWED_FORMS),
    *(Route(pattern=(DO, form.tool.name, REVIEW), draw=draw_form_review(form)) for form in REVIEWED_FORMS),
)
"""The pages made by hand."""
REVIEWED = tuple(form.tool.name for form in REVIEWED_FORMS)
"""Actions that move money or goods: their forms are reviewed before they are sent. An order has its checkout."""
