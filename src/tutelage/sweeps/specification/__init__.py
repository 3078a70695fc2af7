"""Specifications of sweeps: TOML files, checked against what the library takes, with errors that name the line."""
