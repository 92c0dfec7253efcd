"""Policies behind one interface, with one session object per episode."""
