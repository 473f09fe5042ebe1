"""What draws tokens: the protocol, and the engines that keep it."""
