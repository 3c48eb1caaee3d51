"""From text to history: events, vocabularies, datasets. Needs numpy only; duckdb is loaded to read raw files."""
