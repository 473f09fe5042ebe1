"""The task families of the ITDesk world, a module for each part of the desk's work."""
