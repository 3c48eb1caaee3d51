"""Presets, registry, runs, tables."""
