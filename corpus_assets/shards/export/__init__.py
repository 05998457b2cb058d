"""Export a mix as one flat, shuffled stream of samples, in formats that other trainers read."""
