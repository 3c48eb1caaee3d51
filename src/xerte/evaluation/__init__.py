"""The judge: filters, ranks, metrics, protocol. Knows no model."""
