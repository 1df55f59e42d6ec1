"""Reply → Verdict."""
