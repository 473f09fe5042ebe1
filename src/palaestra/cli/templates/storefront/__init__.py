"""Families of the Storefront to begin from, and their test."""
