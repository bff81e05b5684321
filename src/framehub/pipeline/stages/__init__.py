"""Stages: pure functions from DataFrame to DataFrame."""
