"""AppWorld: everyday tasks across apps that are called from code."""
