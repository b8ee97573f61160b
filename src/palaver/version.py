"""The version of palaver. It stands here, as looking it up among installed packages takes long."""

VERSION = "0.1.0"
