"""What tests of sandboxes share: tools that answer programs, and programs that try to break out."""

from sandboxes.host import ToolHost
from sandboxes.probes import FORGERIES, PROBES, Probe
from sandboxes.programs import derive_program, fenced, literal

__all__ = ["FORGERIES", "PROBES", "Probe", "ToolHost", "derive_program", "fenced", "literal"]
