"""SQL judged by execution: a query and its reference on a database and on changed copies of it."""

USES = ("generate",)
