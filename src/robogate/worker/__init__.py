"""The HTTP robot API: server, client, shield and contracts."""
