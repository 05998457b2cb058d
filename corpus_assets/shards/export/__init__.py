"""A mix as one flat, shuffled stream of samples, in the formats that other trainers read."""
