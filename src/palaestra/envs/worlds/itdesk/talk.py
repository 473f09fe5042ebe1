"""What users of the desk can be asked about, and the words by which a message is known to be about it."""

from collections.abc import Mapping

TOPICS: Mapping[str, tuple[str, ...]] = {
    "day": ("day", "date", "until when", "how long", "last day", "till when"),
    "device": ("device", "laptop", "phone", "monitor", "machine", "dev-#"),
    "colleague": ("colleague", "person", "who takes", "name", "somebody", "co-worker", "member"),
    "access": ("access", "role", "grant", "permission", "extension"),
    "shift": ("shift", "on-call", "duty"),
}
