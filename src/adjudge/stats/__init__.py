"""Pure arithmetic about many results."""
