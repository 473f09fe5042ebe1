"""What each folder offers by name, what importing it loads, and that the root links are for eyes only."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

EXPORTS = {
    "palaestra.benchmarks.suites": "SUITES SuiteOptions suite_of",
    "palaestra.benchmarks.external": (
        "BENCHMARKS Benchmark Checkout ExternalEnv Installation Installed Packages benchmark_of install installed"
    ),
    "palaestra.benchmarks.evaluation.agents": (
        "AgentOptions BlockContender Came Contender EpisodeContender ScriptedContender Seat Spent WORDS contender_of"
    ),
    "palaestra": "BENCHMARKS __version__ register_world",
    "palaestra.agents": (
        "AlwaysRefuse Env JunkText LegalRandom Patient Reader Recording SchemaRandom Scripted as_action "
        "finish_at_once no_op oracle rollout"
    ),
    "palaestra.agents.remote": "AskedCall Endpoint EndpointConfig RemoteAgent RemoteChat RemoteChatConfig Reply Usage",
    "palaestra.benchmarks.credit": "METHODS CreditConfig Credited compare credit_markdown credit_tables material_of",
    "palaestra.benchmarks.evaluation.report": (
        "comparison_markdown comparison_page comparison_sentences comparison_table ladder_png report_json "
        "report_markdown report_page summary_tables write_report"
    ),
    "palaestra.benchmarks.learning": (
        "LearningConfig Learnt Material Measured evaluated learn learning_document learning_panels learning_tables"
    ),
    "palaestra.benchmarks.objectives": (
        "FULL QUICK Bandit Copying Dependency Junction Learning OffPolicyReport OffPolicyScale Planning PolicyTable "
        "Toy Training bench_objectives objectives_markdown objectives_panels objectives_png objectives_tables train"
    ),
    "palaestra.proof": (
        "HACKS MUTANT_KINDS ROUTE_KINDS Finding Proof Tally TaskProof proof_document proof_markdown proof_tables "
        "prove prove_task release_of"
    ),
    "palaestra.proof.hacks": "HACKS MOST Hack Insider Seat blind knowing try_hack",
    "palaestra.benchmarks.speed": (
        "FULL QUICK SECTIONS Memory Process Ratio Scale SpeedReport Throughput Timing Unmeasured bench_env "
        "report_table speed_markdown speed_tables"
    ),
    "palaestra.benchmarks.speed.peers": "HOW PEERS Adapter adapter",
    "palaestra.benchmarks.speed.server": "NAME agrees served_tasks time_server",
    "palaestra.benchmarks.speed.training": (
        "Comparison Rate Section TrainingReport TrainingScale bench_async bench_engine bench_train device_of scale_of "
        "training_markdown training_tables"
    ),
    "palaestra.benchmarks.suites.ood": "AXES suite",
    "palaestra.benchmarks.viewer": "render_page",
    "palaestra.cli": "main",
    "palaestra.envs": (
        "SPLITS Draft Family Instance LiveEpisode Snapshot Task TaskSet ToolEnv World bundled call check_env "
        "family instantiate load_families load_folder open_world split_of"
    ),
    "palaestra.envs.check": "CHECKS Subject check_env",
    "palaestra.envs.noise": (
        "Climate Contradiction Injection Listing Movement Noise NoiseMaterial Weather WeatherSnapshot must_fit"
    ),
    "palaestra.envs.state": "Base Column Overlay OverlaySnapshot Schema SqlProjection TableInfo",
    "palaestra.envs.surfaces": "generic_surface",
    "palaestra.envs.kit": (
        "CHANGED_FROM CITIES MAIL_HOSTS PAGE STREETS CaseDraft CaseRow CaseStatus "
        "CaseType Cursor HandbookVariants Person Priority RecordId RefusalCondition Section SectionId amount "
        "approvers ask closing_tools contents count dialogue draw_people draw_temper enumerate_words get_tool "
        "handbook_tools list_tool lowest_approvers offer page reading_tools refuse refused search_tool section "
        "tell touches"
    ),
    "palaestra.envs.worlds.storefront": (
        "POLICY Allowance Build CompetitorOffer Credit Criterion Customer Desk Employee InternalMessage Order "
        "OrderLine Payment Policy Product Promotion RefusalCondition Refund Return Section Shipment Task Ticket "
        "WarrantyClaim answered call called changed closing created declining either family listed never refused "
        "refused_order saw touches"
    ),
    "palaestra.envs.user": (
        "Answer Conversation Decision Fact LlmUser LoggedUser Persona Point Reaction ScriptedUser Temper User "
        "UserFactory UserState decide opening recognised understood"
    ),
    "palaestra.envs.wording": "WORDINGS reworded",
    "palaestra.rubrics": (
        "HARM MET TOTAL UNMET WORLD Allowance Check Checklist ChecklistSnapshot Close Criterion Evidence Rubric "
        "TurnLog Unordered answered asked called changed close collateral created either guards heard informed listed "
        "never rescore saw ungrounded unordered"
    ),
    "palaestra.rubrics.derivation": "Deed Derived Run Table Tables derive",
    "palaestra.tools": (
        "CHAT_FORMATS CONTROL FORMATS TYPED_CONTROL ActKind ActionFormat CallResult ChatFormat CompactFormat "
        "HermesFormat JournaledState JsonFormat Mark ParsedTurn PlannedTurn PlannerFormat QwenFormat Reads Rendering "
        "Schemas Tool ToolContext Toolbox TurnPart finish give_up joined legal_call plain_call plain_text read_plan "
        "reply run_composite sample_call sample_value tool"
    ),
    "palaestra.tools.formats": (
        "CHAT_FORMATS FORMATS ActionFormat ChatFormat CompactFormat HermesFormat JsonFormat Mark ParsedTurn "
        "PlannedTurn PlannerFormat QwenFormat Rendering TurnPart read_plan"
    ),
    "palaestra.trainers": (
        "AlarmConfig Bar CriticConfig GroupRule GrpoConfig GrpoLoop Job LearnerConfig Loop ModelConfig NativeConfig "
        "ObjectiveConfig OpenBar Plan PlayConfig Played Policy PolicyConfig PoolConfig Progress Recorded SftConfig "
        "SftLoop StageResult Staleness TrainConfig WorldConfig batches demonstrations_of load_config load_policy "
        "planned play_jobs read_config run run_loop started tasks_of worlds_of"
    ),
    "palaestra.trainers.critic": "Critic CriticConfig Reading reading",
    "palaestra.trainers.data.layouts": "LAYOUTS LayoutName packed padded shared",
    "palaestra.trainers.engines.native": (
        "Arrived Free NativeConfig NativeEngine Plan Recording Replay Schedule Turn Update Withdrawal"
    ),
    "palaestra.trainers.engines.native.kernels": "HEAD_DIMS CompiledPass Kernels kernels",
    "palaestra.trainers.engines.remote": "RemoteEngine RemoteEngineConfig",
    "palaestra.trainers.engines.vllm": "VllmConfig VllmEngine",
    "palaestra.trainers.learner": "Crew Learner LearnerConfig LoraConfig Precision Scores gathered score",
    "palaestra.trainers.loops": (
        "GrpoConfig GrpoLoop Loop ModelConfig Plan PolicyConfig Progress Recorded SftConfig SftLoop StageResult "
        "TrainConfig WorldConfig batches demonstrations_of load_config planned read_config run run_loop started "
        "tasks_of worlds_of"
    ),
    "palaestra.trainers.monitors": (
        "TRACKERS Action Alarm AlarmConfig Alarms Collapse JsonLinesTracker OpenTracker TerminalTracker Tracker "
        "collapse policy_metrics read_log rollout_metrics sampled_tokens step_line"
    ),
    "palaestra.trainers.objectives": (
        "COLUMNS PARTS PLUGS Aggregation Built Composed Loss Masking Metrics Objective ObjectiveConfig Part Prepared "
        "Preset Ratio Recipe Schedule Supervised Surrogate Term build imported part part_of preset presets "
        "read_recipe"
    ),
    "palaestra.trainers.objectives.advantages": (
        "Adca BiLevelGae Blockwise Cm2 DrMas Estimates Gae Gdpo Gigpo Gpg Group Hiper History Igpo Mig MtGrpo "
        "OfValues Opob OpobProxy Otb PassAtK Potential ReinforcePlus ReinforcePlusKl Sharp Streams Traced VTrace Vapo "
        "attributed_advantages block_advantages checklist_advantages first_met gae gae_estimates gigpo_advantages "
        "gpg_factor group_advantages hiper_streams leads leave_one_out left_out likelihood_gains maxrl monotone_gains "
        "mtgrpo_advantages off_optimal_baseline opo potential_differences reinforce_plus_baseline remax returns_to_go "
        "rloo role_advantages shaped_rewards shapley_values shares token_baseline token_rewards turn_advantages "
        "vtrace whitened"
    ),
    "palaestra.trainers.objectives.corrections": "Decoupled IcePop SequenceTis TokenTis log_mismatch proximal_logprobs",
    "palaestra.trainers.objectives.filters": "Prof Rank Uncertain kept mixed places",
    "palaestra.trainers.objectives.masks": (
        "Anchors EntropyTop M2po Opsm Reject S2t greatest_share invalid_turns truncated"
    ),
    "palaestra.trainers.objectives.rates": "Ess effective_share",
    "palaestra.trainers.objectives.regularisers": "Entropy Kl Move PositiveNll divergence",
    "palaestra.trainers.objectives.rewards": "KlInReward Laconic SoftOverlong ToolBonus Unit overlong paid_last",
    "palaestra.trainers.objectives.transforms": "Arm BatchNorm DropSmall confidences",
    "palaestra.trainers.objectives.trust": (
        "Cispo Clip ClipCov Dcpo Dppo Gmpo KlCov Lad LpReg Luffy Maspo Prepares Reinforce Sapo Square Surrogate "
        "TrustRegion Unclipped Vespo covariance generator"
    ),
    "palaestra.trainers.objectives.whole": (
        "Dpo FlowRl Ipo Kto Learning Mlp Oapl Paced Pairs Partition Spin Sppo Table Whole best_and_worst lengths "
        "mean_trained partition shown_and_own soft_best sum_trained win_rates"
    ),
    "palaestra.trainers.reference": (
        "Control Grpo GrpoConfig Job Learner ModelShape OptimiserConfig Policy Progress RolloutConfig Stage "
        "StageResult WarmUp WarmUpConfig load_policy run_stage"
    ),
    "palaestra.trainers.rollouts.worlds": "DelayedWorlds Latency LocalWorlds ProcessWorlds Timeouts WorldSpec",
    "palaestra.trainers.updates": "POLICY Trained beforehand filled kept minibatches now paid turn_by_turn",
}
HEAVY = {"matplotlib", "pyarrow", "safetensors", "tokenizers", "torch", "transformers"}
"""What the extra `train` brings, and takes seconds to import."""
LINKS = ("agents", "benchmarks", "envs", "rubrics", "tools", "trainers")


def run(code: str, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that finds what lies in `cwd` first."""
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The modules that a fresh interpreter holds after `code`."""
    told = run(f"{code}\nimport sys; print(*sys.modules)", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    return set(told.stdout.split())


def constants_first(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name: the order that ruff keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("folder", EXPORTS)
def test_a_folder_offers_exactly_these_names(folder: str) -> None:
    assert sorted(import_module(folder).__all__) == sorted(EXPORTS[folder].split())


@pytest.mark.parametrize("folder", EXPORTS)
def test_the_names_of_a_folder_are_sorted_and_are_there(folder: str) -> None:
    module = import_module(folder)
    assert list(module.__all__) == sorted(module.__all__, key=constants_first)
    assert all(hasattr(module, name) for name in module.__all__)


def test_what_checkers_take_the_trainers_names_for_is_what_they_are() -> None:
    trainers = import_module("palaestra.trainers")
    (block,) = (
        node for node in ast.parse(Path(str(trainers.__file__)).read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )  # fmt: skip
    told = {
        name.name: getattr(import_module(str(line.module)), name.name)
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }
    assert told == {name: getattr(trainers, name) for name in trainers.__all__}
    assert set(told) <= set(dir(trainers))
    with pytest.raises(AttributeError, match="has no attribute 'GrpoConfigs'"):
        _ = trainers.GrpoConfigs


def test_every_folder_that_offers_names_is_pinned() -> None:
    offering = {
        ".".join(path.parent.relative_to(ROOT / "src").parts)
        for path in (ROOT / "src").rglob("__init__.py")
        if "__all__" in path.read_text() and "served" not in path.parts  # that runs under another interpreter
    }
    internal = {
        "palaestra.envs.worlds.storefront.refusal_conditions",
        "palaestra.envs.worlds.storefront.invariants",
        "palaestra.envs.worlds.storefront.population",
        "palaestra.envs.worlds.storefront.tools",
    }
    assert offering - internal == set(EXPORTS)


@pytest.mark.parametrize("link", LINKS)
def test_a_root_link_is_not_imported_under_its_bare_name(link: str) -> None:
    assert (ROOT / link).resolve() == ROOT / "src" / "palaestra" / link
    told = run(f"import {link}", cwd=ROOT)
    assert told.returncode == 1
    says = f"ImportError: this folder is palaestra.{link}, not {link}; write `import palaestra.{link}`"
    assert told.stderr.splitlines()[-1] == says


@pytest.mark.parametrize("link", LINKS)
def test_every_folder_is_imported_under_its_own_name(link: str) -> None:
    assert run(f"import palaestra.{link}", cwd=ROOT).returncode == 0


def test_importing_palaestra_loads_no_environment(tmp_path: Path) -> None:
    modules = loaded("import palaestra", tmp_path)
    assert "gymnasium" in modules
    light = {"palaestra", "palaestra.errors", "palaestra.packs", "palaestra.version"}
    assert {m for m in modules if m.startswith("palaestra")} == light


@pytest.mark.parametrize("folder", ["envs", "agents", "rubrics", "tools", "trainers", "cli", "proof"])
def test_importing_a_folder_loads_neither_torch_nor_a_world(folder: str, tmp_path: Path) -> None:
    modules = loaded(f"import palaestra.{folder}", tmp_path)
    assert f"palaestra.{folder}" in modules
    assert not modules & HEAVY
    assert not [m for m in modules if m.startswith("palaestra.envs.worlds.storefront")]


@pytest.mark.parametrize("folder", ["agents", "trainers"])
def test_a_policy_loads_neither_its_grader_nor_its_world(folder: str, tmp_path: Path) -> None:
    modules = loaded(f"from palaestra.{folder} import *", tmp_path)
    assert f"palaestra.{folder}.{'policy' if folder == 'trainers' else 'scripted'}" in modules
    assert not [m for m in modules if m.startswith(("palaestra.envs", "palaestra.rubrics", "palaestra.benchmarks"))]


def test_importing_what_task_files_need_populates_no_world(tmp_path: Path) -> None:
    modules = loaded("import palaestra.envs.worlds.storefront", tmp_path)
    assert "palaestra.envs.worlds.storefront.world" not in modules
    assert not [m for m in modules if m.startswith("palaestra.envs.worlds.storefront.population")]


def test_making_an_environment_loads_its_world_and_no_torch(tmp_path: Path) -> None:
    modules = loaded("import gymnasium, palaestra; gymnasium.make('palaestra/Storefront-v0')", tmp_path)
    assert "palaestra.envs.worlds.storefront.world" in modules
    assert not modules & HEAVY
