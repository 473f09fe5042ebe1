"""ALFWorld: household tasks told in words, through the alfworld package."""
