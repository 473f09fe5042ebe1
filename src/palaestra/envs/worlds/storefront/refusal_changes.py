"""Changes of the records that turn a granted request into a refused one; refusal twins of dialogues use them."""

from datetime import timedelta

from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Customer, Order, Product


def send_off(desk: Desk, order: Order) -> Order:
    """The order has left the warehouse, so that it can be neither changed nor cancelled (SHP-2)."""
    left = max(order.placed.date(), desk.today - timedelta(days=1))
    for parcel in desk.shipments(order):
        due = max(parcel.due, desk.today + timedelta(days=1))
        desk.state.update(parcel, status="in_transit", shipped=left, last_scan=left, due=due)
    for payment in desk.payments(order):
        desk.state.update(payment, status="captured")
    settle_account(desk, order.customer_id)
    return desk.state.update(order, status="shipped")


def clear_out(desk: Desk, product: Product) -> Product:
    """The product was sold as clearance goods, so that nobody may send it back for a change of mind (RET-3)."""
    return desk.state.update(product, final_sale=True)


def estrange(desk: Desk, customer: Customer) -> Customer:
    """The account has another address on file than the one that wrote, so that nothing may be done (PRV-1)."""
    name, _, domain = customer.email.partition("@")
    return desk.state.update(customer, email=f"{name}.{desk.today.year}@{domain}")
