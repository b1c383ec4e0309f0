"""Where HermiT 1.3.8 is known to be wrong, asked from scratch: seeds of `random_ontologies.kb`,
and why the right answer is the other one.

Each was found by the differential test, shrunk, and decided by hand; one of each kind is a
golden case. There are two kinds:

* a negative role assertion above a transitive role with an inverse (golden case
  NegativeAboveTransitive): HermiT does not see role assertions that only follow by transitivity;
* a transitive role that a cycle of inverses and inclusions makes symmetric, or that equals an
  inverse of another role (golden case SymmetricTransitiveByCycle): HermiT does not push ∀ along
  it.

HermiT says *consistent* in every one of them; the truth is *inconsistent*.
"""

from __future__ import annotations

_NEGATIVE = "a negative role assertion above a transitive role"
_CYCLE = "a transitive role in a cycle of inverses"

#: What HermiT does not see, by seed.
HERMIT_FAULTS: dict[int, str] = {
    2402: _CYCLE,
    4100: _NEGATIVE,
    5537: _CYCLE,
    9333: _NEGATIVE,
    9477: _NEGATIVE,
    15011: _NEGATIVE,
    18158: _CYCLE,
    30260: _NEGATIVE,
    44146: _NEGATIVE,
}
