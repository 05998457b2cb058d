"""Alembic's entry: runs migrations on the connection and transaction that `schema.py` opened."""

from alembic import context

from catalog.db.models import metadata
from catalog.db.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    transaction_per_migration=False,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
