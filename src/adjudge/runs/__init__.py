"""Many rows: data sets in."""
