"""Pure tensors with parameters: encodings, attention, propagation."""
