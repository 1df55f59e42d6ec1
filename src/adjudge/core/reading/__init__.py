"""Values out of YAML with their place: file, line and key."""
