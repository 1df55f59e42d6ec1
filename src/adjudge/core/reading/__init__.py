"""Typed reading of YAML, TOML and JSON, with file, line and key in every error."""
