"""The migrations of a record's tables, in Alembic's layout."""
