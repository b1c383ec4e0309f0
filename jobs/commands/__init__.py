"""Commands of the command line, one in each file, and what they share."""
