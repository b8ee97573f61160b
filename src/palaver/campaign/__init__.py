"""Campaigns: session after session with a real peer, as a stream of events.

Other rooms import from `campaign_factory` (makes a campaign of a spec and addresses), `run` (the campaign),
`events`, `oracles` (checks that are not grammar) and `stopping` (when it ends).
"""

DOOR = ("campaign_factory", "run", "events", "oracles", "stopping")
