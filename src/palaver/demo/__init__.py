"""A small mail server to try palaver on."""
