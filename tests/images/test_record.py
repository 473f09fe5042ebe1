"""docs/serving-images.json, the record of `make image-test`, is about the images and the checks that stand here."""

import json

from image_checks.checks import CHECKS
from image_checks.image_record import IMAGE_RECORD, digest_sources

AGAIN = "run `make image-test`, which writes docs/serving-images.json"


def test_the_images_were_built_from_what_stands_here() -> None:
    assert json.loads(IMAGE_RECORD.read_text(encoding="utf-8"))["sources"] == digest_sources(), AGAIN


def test_every_check_passed() -> None:
    names = [check.__name__.replace("_", " ") for check in CHECKS]
    assert json.loads(IMAGE_RECORD.read_text(encoding="utf-8"))["passed"] == names, AGAIN
    assert len(names) >= 17
