"""The commands that are not part of `jobs.cli` itself, each in a file named after it."""
