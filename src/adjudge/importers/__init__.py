"""Judgments that other tools recorded → run folders and labels; one file a format."""
