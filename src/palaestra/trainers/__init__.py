"""How a policy learns. The learner is not built yet; this folder is where it will stand."""

if __name__ != "palaestra.trainers":
    raise ImportError(f"this folder is palaestra.trainers, not {__name__}; write `import palaestra.trainers`")
