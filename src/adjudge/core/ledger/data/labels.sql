CREATE TABLE labels (
    number INTEGER PRIMARY KEY, row TEXT NOT NULL, criteria TEXT NOT NULL,
    annotator TEXT NOT NULL, option TEXT, score REAL, winner TEXT, state TEXT NOT NULL,
    criteria_identity TEXT, kind TEXT NOT NULL, design TEXT NOT NULL,
    judge_visible INTEGER NOT NULL, note TEXT NOT NULL, at REAL NOT NULL, seed INTEGER,
    drawn_at REAL, drawn_under TEXT, id TEXT, checksum INTEGER NOT NULL, drawn_by TEXT,
    chance REAL, step INTEGER, drawn_of INTEGER);
CREATE INDEX labels_by_row ON labels (criteria, row, annotator);
CREATE TABLE draws (
    criteria TEXT PRIMARY KEY, seed INTEGER NOT NULL, drawn_at REAL NOT NULL, drawn_by TEXT);
CREATE TABLE drawn_rows (
    number INTEGER PRIMARY KEY, criteria TEXT NOT NULL, rows BLOB NOT NULL,
    checksum INTEGER NOT NULL);
