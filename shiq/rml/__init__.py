"""RML mappings: raw records as statements, and their keys without statements."""
