"""Random SHIQ(D) knowledge bases for the differential test."""
