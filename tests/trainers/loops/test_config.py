"""Settings are read as they are meant, or refused with the setting, the rule and the way out."""

from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_type_hints

import orjson
import pytest

from palaestra.errors import ConfigError
from palaestra.trainers.loops.config import STAGE_CLASSES, TrainConfig
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.reading import RENAMED, config_document, load_config, read_config
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.objectives import Aggregation, ComposedObjective
from palaestra.trainers.objectives.trust import Clip
from palaestra.version import __version__

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "train").glob("*.toml"))


def told(table: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as raised:
        read_config(table, where="mine.toml")
    return str(raised.value)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_read(path: Path) -> None:
    config = load_config(path)
    assert config.stages


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[grpo]\nsteps = 3\n[grpo.limits]\nper_step = 4\nstaleness = 2\n")
    config = load_config(path)
    assert config.sft is None
    assert config.grpo is not None
    assert (config.grpo.steps, config.grpo.limits.per_step, config.grpo.limits.staleness) == (3, 4, 2)
    assert config == TrainConfig(stages={"grpo": config.grpo})


def test_what_a_run_keeps_is_the_whole_of_it_and_reads_back() -> None:
    config = read_config({"seed": 7, "sft": {"steps": 2}, "grpo": {"in_flight": "retract"}})
    document = orjson.loads(config_document(config))
    assert read_config(document) == config
    assert document["grpo"]["learner"]["betas"] == [0.9, 0.95]


@pytest.mark.parametrize(
    ("table", "section", "expected"),
    [
        ({"grpo": {"learner": {"device": "cuda"}}}, "grpo.learner", GrpoConfig().learner),
        ({"grpo": {"learner": {"lora": {"rank": 4}}}}, "grpo.learner", GrpoConfig().learner),
        ({"grpo": {"critic": {"learner": {"micro_tokens": 9}}}}, "grpo.critic.learner", GrpoConfig().critic.learner),
        ({"grpo": {"play": {"turn": 64}}}, "grpo.play", GrpoConfig().play),
        ({"grpo": {"pool": {"world": {"retries": 3}}}}, "grpo.pool.world", GrpoConfig().pool.world),
        ({"grpo": {"limits": {"staleness": 2}}}, "grpo.limits", GrpoConfig().limits),
        ({"sft": {"learner": {"micro_tokens": 400}}}, "sft.learner", SftConfig().learner),
        ({"sft": {"save": {"minutes": 3.0}}}, "sft.save", SftConfig().save),
    ],
)
def test_a_section_changes_only_what_it_names(table: dict[str, Any], section: str, expected: Any) -> None:
    given: Any = table
    for part in section.split("."):
        given = given[part]
    found = attrgetter(section)(read_config(table))
    for one in fields(expected):
        value = getattr(found, one.name)
        if one.name in given:
            assert value != getattr(expected, one.name)
        else:
            assert value == getattr(expected, one.name), one.name


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"grpo": {"steps": -3}}, "grpo: steps=-3: it must be at least 1"),
        ({"grpo": {"steps": 0}}, "steps=0"),
        ({"grpo": {"tokens": 0}}, "tokens=0"),
        ({"grpo": {"updates": 0}}, "updates=0"),
        ({"grpo": {"patience": 0.0}}, "patience=0.0"),
        ({"grpo": {"group_size": 0}}, "group_size=0"),
        ({"grpo": {"group_size": 1}}, "compares the trajectories of a group (advantage group)"),
        ({"grpo": {"group_size": 1, "objective": {"preset": "dpo"}}}, "(whole dpo)"),
        ({"grpo": {"rule": {"kind": "partial", "minimum": 9}}}, "rule.minimum=9"),
        ({"grpo": {"learner": {"lr": -1.0}}}, "lr=-1.0: it must be a finite number above 0"),
        ({"grpo": {"learner": {"lr": float("nan")}}}, "lr=nan"),
        ({"grpo": {"learner": {"max_norm": 0.0}}}, "max_norm=0.0"),
        ({"grpo": {"learner": {"micro_tokens": 0}}}, "micro_tokens=0"),
        ({"grpo": {"learner": {"logits_chunk": 0}}}, "logits_chunk=0"),
        ({"grpo": {"learner": {"weight_decay": -0.1}}}, "weight_decay=-0.1"),
        ({"grpo": {"learner": {"betas": [0.9, 1.0]}}}, "betas=[0.9, 1.0]"),
        ({"grpo": {"learner": {"lora": {"rank": 0}}}}, "rank=0"),
        ({"grpo": {"learner": {"lora": {"targets": []}}}}, "targets=()"),
        ({"grpo": {"critic": {"learner": {"lr": 0.0}}}}, "lr=0.0"),
        ({"grpo": {"play": {"temperature": -1.0}}}, "temperature=-1.0: a number of 0 or more"),
        ({"grpo": {"play": {"temperature": 0.0}}}, "play.temperature=0.0: the trajectories of a group would be alike"),
        ({"expert": {"play": {"temperature": 0.0}}}, "play.temperature=0.0"),
        ({"grpo": {"play": {"top_p": 0.0}}}, "top_p=0.0"),
        ({"grpo": {"engine": {"context": 0}}}, "context=0"),
        ({"grpo": {"engine": {"context": 900, "capacity": 800}}}, "capacity=800"),
        ({"sft": {"steps": 0}}, "steps=0"),
        ({"sft": {"batch": 0}}, "batch=0"),
        ({"sft": {"cpu_seconds": 0.0}}, "cpu_seconds=0.0"),
        ({"expert": {"cpu_seconds": 0.0}}, "cpu_seconds=0.0"),
        ({"grpo": {"cpu_seconds": -1.0}}, "cpu_seconds=-1.0"),
        ({"grpo": {"cpu_seconds": 5.0, "tokens": 9}}, "tokens=9, cpu_seconds=5: each is an end of the stage"),
        ({"sft": {"warmup_steps": -1}}, "warmup_steps=-1"),
        ({"expert": {"steps": 0}}, "expert: steps=0: it must be at least 1"),
        ({"expert": {"updates": 0}}, "updates=0"),
        ({"expert": {"batch": 0}}, "batch=0"),
        ({"expert": {"group_size": 0}}, "group_size=0"),
        ({"expert": {"demonstration_share": 1.0}}, "demonstration_share=1.0: a share of the batch, from 0 to below 1"),
        ({"expert": {"branching": {"continuations": 0}}}, "continuations=0: at least 1"),
        ({"expert": {"branching": {"pivot": ["best"]}}}, "pivots"),
        (
            {"expert": {"keep": {"order": "surprising"}}},
            "choice.rule='deal': the solve rate is expected",
        ),
        ({"expert": {"demonstration_share": 0.95}}, "would have no place; raise batch"),
        (
            {"expert": {"demonstration_share": 0.0, "demonstrations": "x.jsonl"}},
            "with demonstration_share=0 they are not used",
        ),
        ({"expert": {"keep": {"per_task": 0}}}, "per_task=0"),
        ({"expert": {"keep": {"per_family": 1}}}, "per_family=1, per_task=2"),
        ({"expert": {"rule": {"kind": "partial", "minimum": 9}}}, "rule.minimum=9"),
        ({"rejection": {"rounds": 0}}, "rounds=0"),
        ({"rejection": {"limits": {"per_step": 4, "staleness": 1}}}, "nothing is stale"),
        ({"rejection": {"in_flight": "retract"}}, "no new weights come"),
        ({"grpo": {}, "threads": 0}, "threads=0"),
        ({"grpo": {}, "seed": -1}, "seed=-1"),
        ({"grpo": {}, "policy": {"model": {"layers": 0}}}, "layers=0"),
        ({"grpo": {}, "policy": {"model": {"heads": 3, "kv_heads": 2}}}, "3 heads cannot share 2 kv_heads"),
    ],
)
def test_a_number_that_no_run_can_work_with_is_refused_when_the_settings_are_read(
    table: dict[str, Any], says: str
) -> None:
    assert says in told(table)


def test_a_group_of_one_is_taken_where_nothing_is_compared() -> None:
    for preset in ("ppo", "reinforce_pp"):
        config = read_config({"grpo": {"group_size": 1, "objective": {"preset": preset}}})
        assert config.grpo is not None
        assert config.grpo.group_size == 1


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"grpo": {"stepz": 3}}, ("grpo.stepz: unknown", "did you mean 'steps'?")),
        ({"grpo": {}, "wrold": {}}, ("wrold: unknown", "did you mean 'world'?")),
        ({"grpo": {"learner": {"lr": 1e-3, "lorra": {}}}}, ("grpo.learner.lorra: unknown", "'lora'")),
        ({"grpo": {"steps": "many"}}, ("grpo.steps='many': input should be a valid integer",)),
        ({"grpo": {"in_flight": "drop"}}, ("grpo.in_flight", "'keep', 'retract' or 'wait'")),
        ({"grpo": {"limits": {"per_step": 0}}}, ("per_step = 0", "at least 1")),
        ({"grpo": {"play": {"context": 400, "turn": 24, "top_p": 0.9}}}, ("play.top_p=0.9", "train with 1")),
        ({"seed": 1}, ("nothing to do", "[sft], [expert], [rejection], [grpo]")),
        ({"grpo": 3}, ("grpo=3: ",)),
    ],
)
def test_a_mistake_is_told_with_the_way_out(table: dict[str, Any], says: tuple[str, ...]) -> None:
    message = told(table)
    assert message.startswith("mine.toml: ")
    for part in says:
        assert part in message


@pytest.mark.parametrize("former", RENAMED)
def test_a_setting_of_an_earlier_version_is_refused_with_its_new_name(former: str) -> None:
    table: dict[str, Any] = {"grpo": {}}
    inner = table
    *path, last = former.split(".")
    for part in path:
        inner = inner.setdefault(part, {})
    inner[last] = "x"
    assert f"{former}: in version {__version__} it is called {RENAMED[former]!r}; rename it" in told(table)
    attrgetter(RENAMED[former])(TrainConfig(stages={"sft": SftConfig(), "grpo": GrpoConfig()}))  # the new name is one


def test_all_mistakes_are_told_at_once() -> None:
    message = told({"grpo": {"stepz": 3, "updates": "two"}})
    assert "grpo.stepz" in message
    assert "grpo.updates" in message


def test_a_file_that_is_missing_or_no_toml_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.toml: cannot be read \(No such file or directory\)"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("seed = = 3")
    with pytest.raises(ConfigError, match=r"bad\.toml is no TOML"):
        load_config(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("grpo.steps=5", "grpo.steps", 5),
        ("grpo.limits.staleness = 2", "grpo.limits.staleness", 2),
        ("policy.checkpoint=some/folder", "policy.checkpoint", Path("some/folder")),
        ("world.switches={ noise = { failures = 10 } }", "world.switches", {"noise": {"failures": 10}}),
        ("sft.cpu_seconds=1.5", "sft.cpu_seconds", 1.5),
    ],
)
def test_a_setting_of_the_command_goes_before_the_file_s(tmp_path: Path, setting: str, name: str, value: Any) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[grpo]\nsteps = 3\n[grpo.limits]\nper_step = 4\n")
    config = load_config(path, settings=[setting])
    (world,) = config.world
    section, _, key = name.partition(".")
    assert (getattr(world, key) if section == "world" else attrgetter(name)(config)) == value


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("grpo.steps=four", "--set grpo.steps='four': input should be a valid integer, unable"),
        ("grpo.steps=-1", "--set grpo.steps: steps=-1: it must be at least 1"),
        ("grpo.play.temperature=-1.0", "--set grpo.play.temperature: temperature=-1.0: a number of 0 or more"),
        ("grpo.play={ turn = 'long' }", "--set grpo.play.turn='long': input should be a valid integer"),
        ("grpo.stepz=3", "--set grpo.stepz: unknown; did you mean 'steps'?"),
        ("threads=0", "--set threads: threads=0"),
    ],
)
def test_a_refused_setting_of_the_command_is_named_in_place_of_the_file(
    tmp_path: Path, setting: str, says: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[grpo]\nsteps = 3\n")
    with pytest.raises(ConfigError) as raised:
        load_config(path, settings=[setting])
    assert str(raised.value).startswith(says)


def test_a_fault_of_the_file_is_told_beside_one_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[grpo]\nupdates = 'two'\n")
    with pytest.raises(ConfigError) as raised:
        load_config(path, settings=["grpo.steps=four"])
    assert str(raised.value).startswith(f"{path}: grpo.updates='two': ")
    assert "; --set grpo.steps='four': " in str(raised.value)


@pytest.mark.parametrize("setting", ["grpo.steps", "=3", "grpo.steps.more=3"])
def test_a_setting_that_sets_nothing_is_refused(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[grpo]\nsteps = 3\n")
    with pytest.raises(ConfigError, match=r"sets nothing|is a value and no section"):
        load_config(path, settings=[setting])


# stages in any order


def test_without_an_order_stages_come_by_kind() -> None:
    config = read_config({"grpo": {}, "rejection": {}, "expert": {}, "sft": {}})
    assert list(config.stages) == ["sft", "expert", "rejection", "grpo"]


def test_an_order_may_repeat_kinds_under_names_of_their_own() -> None:
    order = ["grpo-early", "sft", "expert", "grpo"]
    table = {"stages": order, "sft": {}, "grpo": {"steps": 3}, "grpo-early": {"steps": 2}, "expert": {"updates": 5}}
    config = read_config(table)
    assert list(config.stages) == order
    assert [getattr(stage, "steps", None) for stage in config.stages.values()] == [2, 400, 15, 3]
    document = orjson.loads(config_document(config))
    assert document["stages"] == order
    assert read_config(document) == config
    assert list(read_config(document).stages) == order


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"grpo": {}, "grpo-late": {}}, 'add stages = ["grpo","grpo-late"], in the order that you mean'),
        ({"stages": ["sfd"], "sft": {}}, "unknown stage 'sfd'; did you mean 'sft'"),
        ({"stages": ["sft"], "sft": {}, "grpo": {}}, "stages leaves out grpo, which would have no effect"),
        ({"stages": ["sft", "sft"], "sft": {}}, "'sft' comes 2 times; give each its own section, such as [sft] and"),
        ({"stages": "sft", "sft": {}}, "a list of names"),
        ({"stages": [], "sft": {}}, "stages leaves out sft"),
        ({"grpo-late": {"stepz": 3}}, "grpo-late.stepz: unknown; did you mean 'steps'?"),
        ({"grpo-late": {"save_every": 3}}, "grpo-late.save_every: in version"),
        ({"expret": {}, "sft": {}}, "expret: unknown; did you mean 'expert'?"),
    ],
)
def test_an_order_that_cannot_be_meant_is_refused(table: dict[str, Any], says: str) -> None:
    assert says in told(table)


def sections(kind: Any, path: str = "") -> list[tuple[str, Any]]:
    found = [(path, kind)]
    for one in fields(kind):
        hint = get_type_hints(kind)[one.name]
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner):
                found += sections(inner, f"{path}.{one.name}".strip("."))
    return found


def test_an_unknown_setting_is_refused_in_every_section() -> None:
    """Settings are nested dataclasses of many modules; strictness must not end at a border between them."""
    places = [path for path, _ in sections(TrainConfig)]
    places += [place for kind, settings in STAGE_CLASSES.items() for place, _ in sections(settings, kind)]
    assert len(places) > 10
    for place in places:
        table: dict[str, Any] = {"grpo": {}, "sft": {}, "expert": {}, "rejection": {}}
        inner = table
        for part in filter(None, place.split(".")):
            inner = inner.setdefault(part, {})
        inner["no_such_setting"] = 1
        assert f"{place}.no_such_setting: unknown".lstrip(".") in told(table), place


def test_the_relatives_of_grpo_are_settings_of_its_objective() -> None:
    dapo = {"trust": {"high": 0.28, "dual": 10.0}, "aggregation": {"name": "token-mean"}, "unit": "any"}
    config = read_config({"grpo": {"objective": {"parts": dapo}}}).grpo
    assert config is not None
    expected = ComposedObjective(trust=Clip(high=0.28, dual=10.0), aggregation=Aggregation(name="token-mean"))
    assert config.objective.build().objective == expected


@pytest.mark.parametrize(
    ("objective", "told_so"),
    [
        ({"preset": "grop"}, "unknown preset 'grop'; did you mean 'grpo'"),
        ({"parts": {"trust": {"hihg": 0.3}}}, "trust clip: unknown setting 'hihg'; did you mean 'high'"),
        ({"parts": {"trust": {"low": -1}}}, "distances from 1 are not negative"),
        ({"parts": {"trsut": "clip"}}, "trsut"),
        ({"parts": {"advantage": "remax"}}, "it reads greedy_R .* no filler is chosen for it"),
        ({"imports": ["no_such_module"]}, "no_such_module cannot be imported"),
    ],
)
def test_an_objective_that_cannot_be_built_is_refused_when_it_is_read(
    objective: dict[str, object], told_so: str
) -> None:
    with pytest.raises(ConfigError, match=told_so):
        read_config({"grpo": {"objective": objective}})
