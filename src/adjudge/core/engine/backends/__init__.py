"""Other ways from ballots to votes than one request after the other."""
