"""Words for what a shop sends."""

GOODS = r"(?:orders?|parcels?|packages?|shipments?|deliver(?:y|ies)|goods|items?|ORD-\d+|SHP-\d+)"
