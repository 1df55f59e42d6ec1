"""Sources of rows: one file per kind."""
