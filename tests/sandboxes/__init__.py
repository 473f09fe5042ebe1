"""What tests of sandboxes share: tools that answer programs, and programs that try to break out."""

from sandboxes.host import ToolHost
from sandboxes.probes import FORGERIES, PROBES, Probe

__all__ = ["FORGERIES", "PROBES", "Probe", "ToolHost"]
