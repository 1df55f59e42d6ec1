"""Ready-made criteria, as data files."""
