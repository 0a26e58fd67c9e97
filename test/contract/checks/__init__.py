"""Checks that the official Azure clients for Python make against azcsi-sim."""
