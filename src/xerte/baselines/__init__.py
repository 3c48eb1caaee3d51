"""Forecasters beside xERTE, one small file each, under the same contract."""
