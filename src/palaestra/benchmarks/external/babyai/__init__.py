"""BabyAI: instructions in a small grid world, through Farama's minigrid."""
