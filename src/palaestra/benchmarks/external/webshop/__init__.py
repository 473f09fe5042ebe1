"""WebShop: find and buy the product that a person described."""
