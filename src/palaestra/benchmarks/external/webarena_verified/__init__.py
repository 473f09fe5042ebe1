"""WebArena-Verified: tasks on whole web sites, with typed answers and network events as evidence."""
