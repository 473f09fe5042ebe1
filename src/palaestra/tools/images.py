"""Images in answers: a tool attaches an image, and the message of its answer carries it as a `data:` URL.

A message with images is plain JSON, so recording, replay, forks, digests and worker processes need no code for images.
Only bitmaps are accepted: an SVG document could hold a script.
"""

from base64 import b64encode
from collections.abc import Sequence

from palaestra.digest import digest_bytes
from palaestra.errors import CapabilityError
from palaestra.records import Message

MAX_IMAGE_BYTES = 4 * 2**20
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/gif": (b"GIF8", b""),
    "image/webp": (b"RIFF", b"WEBP"),
}
"""For each type, the first bytes of a file, and the bytes from its ninth byte on."""


def image_url(data: bytes) -> str:
    """The image as a `data:` URL.

    Args:
        data: A PNG, JPEG, GIF or WebP file of at most 4 MiB.

    Raises:
        ValueError: it is not such a file, or is larger.
    """
    if len(data) > MAX_IMAGE_BYTES:
        raise ValueError(f"an image of {len(data):,} bytes is over the limit of {MAX_IMAGE_BYTES:,}; scale it down")
    for media_type, (start, ninth) in _SIGNATURES.items():
        if data.startswith(start) and data[8:].startswith(ninth):
            return f"data:{media_type};base64,{b64encode(data).decode()}"
    raise ValueError(f"an image that begins with {data[:8]!r} is no PNG, JPEG, GIF or WebP; convert it to one of these")


def is_image_url(value: object) -> bool:
    """Whether `value` is a `data:` URL of an image type that tools attach."""
    return isinstance(value, str) and value.startswith(tuple(f"data:{kind};base64," for kind in _SIGNATURES))


def describe_image(url: str) -> str:
    """A description of the image, such as "image/png, 1,204 bytes", for places that cannot show it."""
    head, _, data = url.partition(";base64,")
    return f"{head.removeprefix('data:')}, {len(data) * 3 // 4 - data.count('='):,} bytes"


def digest_answer(content: bytes, images: Sequence[str]) -> str:
    """128 bits, as hex, of an answer: its text, and its images if there are any."""
    return digest_bytes(b"\0".join([content, *(url.encode() for url in images)]) if images else content)


def read_text(message: Message) -> str:
    """The content of a message, for a format that has only text.

    Raises:
        CapabilityError: the message holds images, which the policy would not see.
    """
    if images := message.get("images"):
        raise CapabilityError(
            f"the answer of {message.get('name', message['role'])} holds an image ({describe_image(images[0])}), and "
            "text formats have no images; play this world with a remote agent whose model reads images"
        )
    return message["content"]
