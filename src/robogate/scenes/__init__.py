"""Labels and seeds resolved to physical parameters, and their readback."""
