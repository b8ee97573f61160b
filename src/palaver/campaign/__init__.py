"""Many conversations: how long to go on, and what they have come to."""
