"""Set of marks: a box and a number on each element of a screenshot (Yang et al. 2023, arXiv:2310.11441).

Needs Pillow, of the extra `web`.
"""

from collections.abc import Mapping
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from palaestra.envs.surfaces.pages.tree import Box

COLOURS = ("#c62828", "#1565c0", "#2e7d32", "#6a1b9a", "#e65100", "#00695c")
"""Of boxes, in turn, so that neighbours differ."""
_LETTER, _HIGH = 7, 13
"""Pixels of a digit's width and of a mark's height."""


def mark_picture(picture: bytes, boxes: Mapping[str, Box]) -> bytes:
    """A PNG with boxes and their marks on it; equal arguments give equal bytes.

    Args:
        picture: A PNG.
        boxes: By mark, such as a number, in pixels; what lies outside is not drawn.
    """
    image = Image.open(BytesIO(picture)).convert("RGB")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default_imagefont()
    for number, (text, box) in enumerate(boxes.items(), 1):
        colour = COLOURS[number % len(COLOURS)]
        right, bottom = max(box.left, box.right - 1), max(box.top, box.bottom - 1)
        draw.rectangle((box.left, box.top, right, bottom), outline=colour, width=2)
        top = max(0, box.top - _HIGH + 2)
        left = max(0, min(box.left, image.width - 2 - _LETTER * len(text)))
        draw.rectangle((left, top, left + _LETTER * len(text) + 2, top + _HIGH), fill=colour)
        draw.text((left + 2, top + 1), text, fill="white", font=font)
    out = BytesIO()
    image.save(out, format="PNG")
    return out.getvalue()
