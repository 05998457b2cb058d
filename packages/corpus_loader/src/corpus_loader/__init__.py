"""Read the token shards of corpus-assets in a trainer, with numpy alone."""
