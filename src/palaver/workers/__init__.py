"""Carriers: how units of work reach workers, which are other processes or other machines, and how reports come back.

A carrier knows nothing of sessions: it starts workers, carries messages, and tells which workers have come and gone.
`carrier` is what all of them have in common, `processes` are those of this machine, `dask_cluster` those of a cluster.
"""

DOOR = ("carrier", "processes", "dask_cluster")
