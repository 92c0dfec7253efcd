"""Bad evidence, made at test time from small valid bundles: a forger, and each kind of fault."""
