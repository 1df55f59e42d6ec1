"""Every kind of judge: which ballots it writes, and how their votes are pooled."""
