"""Results as plain text, for people at a terminal."""
