"""Throttling, failures after acceptance and lost answers, as scripted through the control API."""


def run(compute, world, report):
    """Filled with the fault scripts of the control API."""
