"""What the desk can do, a module for each part of its work."""
