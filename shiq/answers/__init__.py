"""Answers: verdicts with their leftovers, results, and how they are shown."""
