CREATE TABLE IF NOT EXISTS adjudge_runs (
    run text PRIMARY KEY, configuration text NOT NULL, widest bigint NOT NULL DEFAULT 0,
    started double precision NOT NULL DEFAULT extract(epoch FROM clock_timestamp()));
CREATE TABLE IF NOT EXISTS adjudge_records (
    number bigserial PRIMARY KEY, run text NOT NULL, writer text NOT NULL, session text NOT NULL,
    first_row bigint NOT NULL, last_row bigint NOT NULL, line text NOT NULL);
CREATE INDEX IF NOT EXISTS adjudge_records_by_rows ON adjudge_records (run, first_row, last_row);
CREATE TABLE IF NOT EXISTS adjudge_workers (
    run text NOT NULL, holder text NOT NULL, writer text NOT NULL, until timestamptz,
    usd double precision NOT NULL DEFAULT 0, calls bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0, PRIMARY KEY (run, holder));
CREATE TABLE IF NOT EXISTS adjudge_lanes (
    run text NOT NULL, model text NOT NULL, next double precision NOT NULL DEFAULT 0,
    hold double precision NOT NULL DEFAULT 0, factor double precision NOT NULL DEFAULT 1,
    cut double precision NOT NULL DEFAULT '-infinity', PRIMARY KEY (run, model));
CREATE TABLE IF NOT EXISTS adjudge_ranges (
    run text NOT NULL, first_row bigint NOT NULL, last_row bigint NOT NULL, holder text,
    until timestamptz, done boolean NOT NULL DEFAULT false, rows text,
    PRIMARY KEY (run, first_row));
