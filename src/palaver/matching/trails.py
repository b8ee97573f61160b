"""Old names, until the other rooms import from the doors."""

from palaver.matching.bound_paths import BoundPaths as Trails

__all__ = ["Trails"]
