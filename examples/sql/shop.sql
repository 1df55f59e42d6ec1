CREATE TABLE customer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT,
    age INTEGER
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    total REAL NOT NULL
);
INSERT INTO customer VALUES
    (1, 'Ann', 'France', 30), (2, 'Bob', 'Spain', 20), (3, 'Cy', 'France', 41),
    (4, 'Di', NULL, 25), (5, 'Ed', 'Italy', 33);
INSERT INTO orders VALUES
    (1, 1, 10.5), (2, 1, 20.0), (3, 2, 5.25), (4, 3, 99.0), (5, 5, 1.0), (6, 5, 12.0);
