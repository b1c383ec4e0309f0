"""Systems over streams: what they share is in `front`, each system in a package of its own."""
