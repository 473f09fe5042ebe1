"""Runs the migrations over the connection that `schema` hands over; its transaction is the caller's."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
