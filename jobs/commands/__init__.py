"""Commands of the command line, a module for each subject, and what they share."""
