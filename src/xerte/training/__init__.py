"""Loss, loop, checkpoint."""
