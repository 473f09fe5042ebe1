"""Set of marks: a box and a number on each element of a screenshot (Yang et al. 2023, arXiv:2310.11441).

Needs Pillow, of the extra `web`.
"""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from palaestra.record import record

COLOURS = ("#c62828", "#1565c0", "#2e7d32", "#6a1b9a", "#e65100", "#00695c")
"""Of boxes, in turn, so that neighbours differ."""
_LETTER, _HIGH = 7, 13
"""Pixels of a digit's width and of a mark's height."""


@record
class Box:
    """A rectangle in pixels; `right` and `bottom` lie outside it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def centre(self) -> tuple[int, int]:
        """Where one clicks."""
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


def mark_picture(picture: bytes, boxes: Sequence[Box]) -> bytes:
    """A PNG with boxes on it, numbered from 1 in their order; equal arguments give equal bytes.

    Args:
        picture: A PNG.
        boxes: In its pixels; what lies outside is not drawn.
    """
    image = Image.open(BytesIO(picture)).convert("RGB")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default_imagefont()
    for number, box in enumerate(boxes, 1):
        colour = COLOURS[number % len(COLOURS)]
        right, bottom = max(box.left, box.right - 1), max(box.top, box.bottom - 1)
        draw.rectangle((box.left, box.top, right, bottom), outline=colour, width=2)
        text = str(number)
        top = max(0, box.top - _HIGH + 2)
        left = max(0, min(box.left, image.width - 2 - _LETTER * len(text)))
        draw.rectangle((left, top, left + _LETTER * len(text) + 2, top + _HIGH), fill=colour)
        draw.text((left + 2, top + 1), text, fill="white", font=font)
    out = BytesIO()
    image.save(out, format="PNG")
    return out.getvalue()
