"""Class and property names by number, as columns hold them."""

from __future__ import annotations

from dataclasses import dataclass, field

from shiq.abox import Interner


@dataclass
class Names:
    """Class and property names by number; a role is 2·(number of its property), + 1 for the inverse."""

    classes: Interner[str] = field(default_factory=Interner)
    object_properties: Interner[str] = field(default_factory=Interner)
    data_properties: Interner[str] = field(default_factory=Interner)

    def sizes(self) -> tuple[int, ...]:
        return len(self.classes), len(self.object_properties), len(self.data_properties)

    def values(self) -> tuple[list[str], ...]:
        return self.classes.values, self.object_properties.values, self.data_properties.values

    def copy(self) -> Names:
        return Names(self.classes.copy(), self.object_properties.copy(), self.data_properties.copy())
