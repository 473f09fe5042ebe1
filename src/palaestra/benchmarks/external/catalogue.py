"""The external benchmarks, each loaded on first use."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.errors import UnknownNameError
from palaestra.registry import Registry

BENCHMARKS: Registry[Benchmark] = Registry("benchmark")
for _name, _constant in {
    "agentdojo": "AGENTDOJO",
    "alfworld": "ALFWORLD",
    "appworld": "APPWORLD",
    "babyai": "BABYAI",
    "bfcl": "BFCL",
    "miniwob": "MINIWOB",
    "scienceworld": "SCIENCEWORLD",
    "tau2": "TAU2",
    "textworld": "TEXTWORLD",
    "toolathlon": "TOOLATHLON",
    "webarena-verified": "WEBARENA_VERIFIED",
    "webshop": "WEBSHOP",
}.items():
    BENCHMARKS.register(_name, f"palaestra.benchmarks.external.{_name.replace('-', '_')}.facts:{_constant}")


def benchmark_of(env_id: str) -> Benchmark:
    """The benchmark with an environment id.

    Raises:
        UnknownNameError: there is no such benchmark.
    """
    by_id = {benchmark.env_id: benchmark for benchmark in map(BENCHMARKS.get, BENCHMARKS)}
    if env_id not in by_id:
        raise UnknownNameError.of("benchmark", env_id, by_id)
    return by_id[env_id]
