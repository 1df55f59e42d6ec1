"""One file per page. It turns an address into data, and a template shows the data."""
