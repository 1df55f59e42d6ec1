"""The nouns. They import nothing of adjudge but its errors."""
