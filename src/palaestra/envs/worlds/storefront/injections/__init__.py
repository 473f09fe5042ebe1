"""What attackers plant in the Storefront's content: sixteen goals, and the content that customers write."""

from palaestra.envs.injections import WorldInjections
from palaestra.envs.worlds.storefront.injections.accounts import GOALS as ACCOUNT_GOALS
from palaestra.envs.worlds.storefront.injections.carriers import CARRIERS
from palaestra.envs.worlds.storefront.injections.goods import GOALS as GOODS_GOALS
from palaestra.envs.worlds.storefront.injections.messages import GOALS as MESSAGE_GOALS
from palaestra.envs.worlds.storefront.injections.money import GOALS as MONEY_GOALS

INJECTIONS = WorldInjections(goals=(*MONEY_GOALS, *GOODS_GOALS, *ACCOUNT_GOALS, *MESSAGE_GOALS), carriers=CARRIERS)
