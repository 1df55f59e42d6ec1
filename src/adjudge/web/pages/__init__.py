"""One file per page: what an address asks for, as data; a template shows it."""
