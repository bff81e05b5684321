"""Stories that break one rule of spec/audit.md each, and say which rows show it."""
