"""Second opinions of a writing model, with reasons, about rows that failed or are uncertain."""

USES = ()
