"""What rows come from: one file a kind of source."""
