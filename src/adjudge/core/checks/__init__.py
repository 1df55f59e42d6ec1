"""What a program can tell of a text without asking a model."""
