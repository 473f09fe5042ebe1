"""The rows of the world: repositories and their files."""

from typing import Annotated, ClassVar, Literal

from palaestra.envs.state import Schema
from palaestra.record import record
from palaestra.records import References, Row, Searchable

RepositoryId = Annotated[str, References("repositories")]
FileId = Annotated[str, References("files")]


@record
class Repository(Row):
    """A small project."""

    table: ClassVar[str] = "repositories"
    prefix: ClassVar[str] = ""
    about: str


@record
class RepositoryFile(Row):
    """A file, under its path."""

    table: ClassVar[str] = "files"
    prefix: ClassVar[str] = ""
    repository_id: RepositoryId
    kind: Literal["source", "test"]
    text: Annotated[str, Searchable()]


SCHEMA = Schema(Repository, RepositoryFile)
