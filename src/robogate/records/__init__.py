"""Record types, the environment interface, the success state machine and digests."""
