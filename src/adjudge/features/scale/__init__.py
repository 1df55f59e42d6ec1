"""Runs on many machines: Ray, Postgres and object stores."""
