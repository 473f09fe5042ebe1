"""The bundled world packs, a folder each."""
