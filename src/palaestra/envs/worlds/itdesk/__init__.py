"""The ITDesk world: the service desk of a company's IT, with identity, access, hardware, on-call and maintenance.

Importing this populates nothing; `gymnasium.make("palaestra/ITDesk-v0")` does.
"""
