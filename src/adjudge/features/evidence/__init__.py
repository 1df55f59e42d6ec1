"""Evidence for a text: its claims are judged one by one, with quotes that a program verifies."""
