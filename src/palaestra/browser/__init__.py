"""Control of a Chromium browser: contexts, actions with mouse and keyboard, and pages as text.

It imports only the standard library and Playwright, so that it also runs under the interpreters of benchmarks.
"""
