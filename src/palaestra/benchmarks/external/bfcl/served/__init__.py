"""BFCL as it is played: runs where `bfcl-eval` is installed.

Single-turn tasks are one turn, whose calls the package's own checker judges. Multi-turn tasks are played on the
package's API classes, and judged by its state and response checks at the end of each of the user's turns.
"""

from palaestra.benchmarks.external.bfcl.served.catalogue import bench

__all__ = ["bench"]
