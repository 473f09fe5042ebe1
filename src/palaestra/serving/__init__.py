"""Served worlds: sessions behind HTTP for other processes and machines, keys, and the client.

    access/  keys, scopes, rates
    core/    sessions, leases, the account of episodes; no protocol
    http/    the core over HTTP
    client/  a served world as a Gymnasium environment

Importing this package loads none of them: a client needs no server, and the core no protocol.
"""
