"""The index of (T, A): results computed once, and kept up to date through deletions."""
