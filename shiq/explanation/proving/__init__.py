"""Rules of OWL 2 RL by which a contradiction is derived, and the steps of a proof."""
