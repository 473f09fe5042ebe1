"""A Chromium that is driven by program: contexts, acts with mouse and keyboard, pages in words.

It imports the standard library and Playwright alone, so that it also runs under the interpreters of benchmarks.
"""
