CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER);
CREATE TABLE votes (number INTEGER PRIMARY KEY, ballot BLOB NOT NULL, model TEXT NOT NULL,
    sample INTEGER NOT NULL, outcome TEXT NOT NULL, option TEXT, explanation TEXT, reason TEXT,
    text TEXT, prompt TEXT, calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, latency REAL NOT NULL,
    at REAL NOT NULL, more TEXT, checksum INTEGER);
CREATE INDEX votes_by_ballot ON votes (ballot);
CREATE TABLE judgments (judge TEXT NOT NULL, number INTEGER NOT NULL, id TEXT,
    instance TEXT NOT NULL, ballots BLOB NOT NULL, status TEXT NOT NULL, score REAL,
    criterion TEXT NOT NULL, verdict TEXT, flags INTEGER NOT NULL, result TEXT NOT NULL,
    checksum INTEGER, PRIMARY KEY (judge, number)) WITHOUT ROWID;
CREATE INDEX judgments_by_score ON judgments (judge, status, score, number);
CREATE TABLE batches (id TEXT PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL,
    account TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL, request_sha TEXT NOT NULL,
    remote_id TEXT, expires REAL, counts TEXT NOT NULL, more TEXT NOT NULL, checksum INTEGER)
    WITHOUT ROWID;
CREATE TABLE batch_ballots (ballot BLOB NOT NULL, request BLOB NOT NULL,
    batch TEXT NOT NULL, attempt INTEGER NOT NULL, state TEXT NOT NULL, reply TEXT,
    checksum INTEGER, PRIMARY KEY (ballot, request)) WITHOUT ROWID;
CREATE INDEX batch_ballots_by_batch ON batch_ballots (batch, state);
