"""Implementations compared: the same conversation with each of them, and where they answer differently.

Doors: `comparison` holds the conversations, `differences` tells and groups what is different.
"""

DOOR = ("comparison", "differences")
