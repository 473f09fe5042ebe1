"""What the demo's policy learns."""

LESSONS = (
    "cancel-order", "change-address", "decline-early-claim", "decline-expired-warranty", "decline-final-sale",
    "decline-late-address", "decline-late-cancel", "decline-late-return", "decline-price-match", "delay-credit",
    "double-charge", "fix-build", "fraud-hold", "lost-parcel", "missed-promotion", "order-status", "partial-refund",
    "price-match", "refund-damaged-item", "refund-over-limit", "return-extended-window", "return-opened-item",
    "third-party-request", "warranty-claim",
)  # fmt: skip
"""The families that the demo's policy learns from and is measured on: what two million parameters can take in."""
