"""How fast: timings beside slow twins, the floor beneath them, and what happens when data grows."""
