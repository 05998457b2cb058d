"""The registry (SQLite or PostgreSQL): rows, models, migrations, and methods that own their SQL."""
