"""From query to subgraph: the temporal index, samplers and inference graphs."""
