"""Readers of a campaign's events: what is shown while it lasts, its findings, and its summary."""

DOOR = ("console", "display", "status")
