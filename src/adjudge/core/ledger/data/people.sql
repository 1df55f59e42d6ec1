CREATE TABLE held (
    criteria TEXT NOT NULL, annotator TEXT NOT NULL, row TEXT NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (criteria, annotator, row)) WITHOUT ROWID;
CREATE TABLE assignments (criteria TEXT PRIMARY KEY, assignment TEXT NOT NULL);
CREATE TABLE assigned (
    criteria TEXT NOT NULL, row TEXT NOT NULL, annotator TEXT NOT NULL,
    PRIMARY KEY (criteria, row, annotator)) WITHOUT ROWID;
