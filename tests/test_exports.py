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
        "BENCHMARKS Benchmark SourceCheckout ExternalEnv Installation InstalledBenchmark Packages benchmark_of "
        "find_installed install"
    ),
    "palaestra.benchmarks.evaluation.agents": (
        "AGENT_NAMES AgentOptions AgentSession Attempt EpisodeCost EvaluatedAgent EvaluatedBlockAgent "
        "EvaluatedEpisodeAgent EvaluatedScript evaluated_agent_of"
    ),
    "palaestra": "BENCHMARKS __version__ connect connect_vec make register_world",
    "palaestra.agents": (
        "AlwaysRefuse Env EpisodeRecorder JunkText LegalRandom PatientAgent ReadOnlyAgent SchemaRandom ScriptedAgent "
        "as_action finish_at_once no_op oracle rollout"
    ),
    "palaestra.agents.detectors": (
        "DETECTORS Detection DetectionRule Detector DetectorName TurnMeasure detect highest_measure"
    ),
    "palaestra.agents.remote": (
        "ChatReply Endpoint EndpointConfig RemoteAgent RemoteChat RemoteChatConfig RequestedCall TokenUsage"
    ),
    "palaestra.agents.search": (
        "AgentProposer Branch BranchValue ChatValue LegalProposer Proposer RequestCoverage SearchConfig SearchNode "
        "SearchTree TreeSearchAgent"
    ),
    "palaestra.benchmarks.ablations": (
        "ARMS SITES TABLES AblationArm AblationCell AblationConfig AblationSite AblationTable CellKey "
        "ablation_tables read_cells run_cells site_materials"
    ),
    "palaestra.benchmarks.transfer": (
        "GROUPS WORLDS TransferCell TransferConfig TransferFloors TransferGroup TransferKey TurnLikelihood "
        "measure_floors read_cells run_cell score_solutions training_world transfer_groups transfer_settings "
        "transfer_tables"
    ),
    "palaestra.benchmarks.credit": (
        "METHODS CreditConfig CreditDesign CreditEstimator CreditFigures CreditReading CriticBudget CriticReading "
        "MethodScore ScoredTurns TaskSample TurnAdvantages credit_document credit_markdown credit_panels "
        "credit_picture credit_tables estimator_of measure_credit near_exact_advantages resample_estimates score_method"
    ),
    "palaestra.benchmarks.diagnosis": (
        "MOST Diagnosis TrainingFinding diagnose diagnosis_document diagnosis_page diagnosis_tables find_causes "
        "headline"
    ),
    "palaestra.benchmarks.diagnosis.findings": "MOST TrainingFinding find_causes headline",
    "palaestra.benchmarks.evaluation.report": (
        "comparison_markdown comparison_page comparison_sentences comparison_table ladder_png report_json "
        "report_markdown report_page summary_tables write_report"
    ),
    "palaestra.benchmarks.learnability": (
        "Demonstration FamilyLearnability Imitator demonstrate learnability_table measure_learnability play_imitator"
    ),
    "palaestra.benchmarks.learning": (
        "BASE CONTROLS STAGES HeldoutGroup LearningConfig LearningMaterial LearningResult MeasuredPolicy "
        "PagesLearning RendererTask choose_families digest_base estimate_time evaluate_policy find_base "
        "groups_by_training learn learn_at_once learning_document learning_panels learning_tables limit_tasks "
        "measure_pages_learning pages_learning_tables place_of pretrained_config write_demonstrations"
    ),
    "palaestra.benchmarks.objectives": (
        "FULL QUICK Bandit Copying Dependency Junction OffPolicyReport OffPolicyScale Planning PolicyTable Toy "
        "ToyResult ToyTraining bench_objectives objectives_markdown objectives_panels objectives_png "
        "objectives_tables train_toy"
    ),
    "palaestra.proof": (
        "ATTACKS FAULT_KINDS MUTANT_KINDS ROUTE_KINDS AttackReport CaseCounts Fault Finding InjectionProof "
        "InjectionTrial Proof ProofVerdict TaskProof attack_table attack_tasks decide_tasks group_faults "
        "proof_document proof_lines proof_markdown proof_tables prove prove_injections prove_task release_of "
        "try_injection"
    ),
    "palaestra.proof.authoring": (
        "AuthoredDraft AuthoringBrief AuthoringResult DraftFolder Judgement LeastSize ProofLimits judge_document "
        "judge_within_limits write_world"
    ),
    "palaestra.proof.attacks": (
        "ATTACKS MAX_CALLS NEEDS UNGUARDED Attack AttackContext Need PrivilegedAttackContext blind_attack "
        "privileged_attack run_attack world_attacks"
    ),
    "palaestra.benchmarks.speed": (
        "FULL QUICK SECTIONS EnvironmentMemory MissingFigure ProcessMemory Scale SpeedReport Throughput TimeRatio "
        "Timing bench_env report_table speed_markdown speed_tables"
    ),
    "palaestra.benchmarks.speed.peers": "INSTALLATION PEERS Adapter adapter",
    "palaestra.benchmarks.speed.served": (
        "SampleRange ServedReport ServedRow ServedSample ServedScale bench_served served_table"
    ),
    "palaestra.benchmarks.speed.server": "NAME is_contained server_arguments server_tasks time_server",
    "palaestra.benchmarks.gpu": (
        "CHECKS CheckResult ContactCheck ContactFigure ContactReport ContactScale contact_markdown contact_scale "
        "contact_tables run_check run_contact"
    ),
    "palaestra.benchmarks.mismatch": (
        "FLOW_PAIRS FlowPair MismatchFigures MismatchScale find_flow_pairs measure_mismatch "
        "mismatch_markdown mismatch_tables"
    ),
    "palaestra.benchmarks.speed.training": (
        "SAVES_FULL SAVES_QUICK SaveCosts SavesReport SpeedComparison SpeedSection TrainingReport TrainingScale "
        "WorkRate bench_async bench_engine bench_replicas bench_saves bench_train device_of saves_markdown saves_table "
        "scale_of "
        "training_markdown training_tables"
    ),
    "palaestra.benchmarks.statistics": (
        "FEWEST FULL QUICK CoverageScale MeanEstimate Observation Unit coverage_table estimate_mean estimate_share "
        "holm independent_difference paired_difference sign_flip_p simulate_coverage unit_means"
    ),
    "palaestra.benchmarks.suites.ood": "AXES suite",
    "palaestra.benchmarks.dashboard": "Dashboard make_dashboard_app",
    "palaestra.benchmarks.record": (
        "EMPTY REVISIONS EpisodeFilter EpisodeSummary FileRole ImportSummary RecordDatabase RunKind RunSummary "
        "SourceRun check_schema export_run find_episodes find_sources follow import_run import_sentence migrate "
        "prepare remove_run run_summaries"
    ),
    "palaestra.benchmarks.viewer": "page_colours render_page",
    "palaestra.benchmarks.wording": (
        "NaiveBayes RequestText RidgeClassifier WordingReport accuracy closest_overlaps jaccard measure_wordings "
        "recognise_kind request_texts shingles wording_tables"
    ),
    "palaestra.cli": "main",
    "palaestra.envs": (
        "SPLITS Draft Family Instance Invariant LiveEpisode PopulatedWorld Snapshot Task TaskSet ToolEnv World "
        "WorldAttack WorldFinding WorldReport WorldScript bundled_tasks call check_env check_world family instantiate "
        "load_families load_folder open_world split_of"
    ),
    "palaestra.envs.blueprints": (
        "ActionSpec Blueprint CompiledBlueprint Creation EntitySpec FieldSpec ParameterSpec Plant QuestionSpec "
        "RefusalSpec RequestSpec Requirement RuleSpec SectionSpec ToolStyle WorkStep check_blueprint "
        "compile_blueprint dump_blueprint load_blueprint load_world read_blueprint write_template"
    ),
    "palaestra.envs.blueprints.checking": "check_blueprint",
    "palaestra.envs.blueprints.expressions": (
        "DATE FLAG INTEGER MONEY NONE TEXT Calculation EntityScope EvaluationTrace Expression Frame Relation Scan "
        "Scope ValueType parse_expression"
    ),
    "palaestra.envs.synthesis": (
        "MANY_SPLITS WORLD_SPLITS DomainLexicon ListedWorld ManyWorldsEnv Mechanism MechanismPart WorldPlan "
        "WorldSplit domains draw_plan generate_blueprint join_parts listed_numbers listed_worlds make_synth "
        "mechanisms save_listing world_id"
    ),
    "palaestra.envs.synthesis.diversity": (
        "NEAREST Neighbour RequestPair WorldDistance WorldPair WorldProfile WorldSize diversity_tables "
        "find_near_duplicate jaccard_distance near_duplicate_requests nearest_neighbours profile_world quantiles "
        "request_distance world_distance world_pairs"
    ),
    "palaestra.envs.check": "CHECKS WORLD_CHECKS Subject WorldFinding WorldReport check_env check_world",
    "palaestra.envs.injections": (
        "STYLES AttackGoal AttackTrace GoalPart GoalSetting GoalTarget InjectionCarrier InjectionChoice InjectionPlace "
        "InjectionStyle TaskInjection TaskTrials WorldInjections check_injection expect_said expect_written "
        "find_injections is_said load_injections plant_injection play_calls request_carrier row_carrier task_trials "
        "victim_calls"
    ),
    "palaestra.envs.noise": (
        "Contradiction Injection Listing Noise NoiseMaterial NoisePlan NoiseSnapshot NoiseState WorldEvent "
        "check_noise_material check_noise_on_pages"
    ),
    "palaestra.envs.simulation": (
        "POLICIES ErrorSimulator PreferenceReport SimulatedEpisode SimulatedPolicy SimulatedTurn SimulationOutcome "
        "SimulationReport WorkPair can_simulate measure_preferences measure_simulation play_simulation "
        "preference_table sibling_pairs simulation_table"
    ),
    "palaestra.envs.state": (
        "AttachedOverlay Base Column FileEntry FileLimits FileTree Overlay OverlaySnapshot Schema SqlProjection "
        "TableInfo overlay_on"
    ),
    "palaestra.benchmarks.pages": (
        "AnchorCell AnchorGroup GateItem GateRow HandPlay NoisyOracle OraclesOnPages ParityItem ParityResult "
        "RepeatedEpisode anchor_cells anchors_panels anchors_table count_anchors determinism_table gate_faults "
        "gate_items gate_tables judge_by_replay measure_anchors measure_digests measure_parity measure_pictures "
        "oracles_table parity_items parity_tables play_oracles run_gate serve_hand_play unequal_episodes"
    ),
    "palaestra.envs.surfaces": "generated_surfaces generic_surface pages_surface",
    "palaestra.envs.surfaces.pages": "pages_surface",
    "palaestra.envs.surfaces.pages.dialects": "DIALECTS Dialect DialectBrowser count_tokens",
    "palaestra.envs.kit": (
        "CHANGED_FROM CITIES DESK_SYNONYMS MAIL_HOSTS PAGE STREETS CaseDraft CaseRow CaseStatus CaseType Cursor Day "
        "HandbookVariants Letter LetterKind Person Priority RecordId RefusalCondition Rule Section SectionId "
        "Surroundings Voice Work amount approvers ask broken_rules calculate calculation case_noise "
        "cases_name_their_policy_and_evidence closing_tools "
        "contents count dialogue draw_people draw_start draw_temper enumerate_words follow_path format_moment "
        "get_tool grant_task handbook_tools letters_of list_tool lowest_approvers note_about offer page parse_sections "
        "percent_half_up permit_change reading_tools references_are_whole refusal_task refuse search_tool section "
        "tell transition_tool with_user"
    ),
    "palaestra.envs.worlds.storefront": (
        "POLICY Allowance Build CompetitorOffer Credit Criterion Customer Desk Employee InternalMessage Order "
        "OrderLine Payment Product Promotion Refund RefusalCondition Return Section Shipment StorePolicy Task Ticket "
        "WarrantyClaim call closing_calls decline_calls expect_answer expect_any expect_call expect_change "
        "expect_read expect_row family forbid_call order_refusal_task permit_change refusal_task"
    ),
    "palaestra.envs.user": (
        "Conversation Decision FeeTalk LlmUser LoggedUser Persona Point Reaction Reading ScriptedUser Temper User "
        "UserAnswer UserFact UserFactory UserState decide opening_state parse_acts read_message recognise_acts "
        "stated_amounts"
    ),
    "palaestra.envs.wording": "WORDINGS reword",
    "palaestra.rubrics": (
        "HARM MET TOTAL UNMET WORLD Allowance Check Checklist ChecklistSnapshot Close Criterion Evidence Rubric "
        "Rights TurnLog UnorderedItems close expect_answer expect_any expect_call expect_change "
        "expect_message expect_question expect_read expect_row expect_user_message forbid_call forbid_guessed_ids "
        "forbid_insistence forbid_prying forbid_trespass guards in_any_order rescore"
    ),
    "palaestra.rubrics.messages": (
        "Amounts Confidential DeriveFacts MessageRules Promise Recipient ShownRows amounts_in describe_amounts "
        "expect_stated_amount expect_told figures_in forbid_disclosures forbid_false_figures forbid_false_promises "
        "forbid_misconduct"
    ),
    "palaestra.rubrics.derivation": "DerivedRubric SolutionTrace TableFacts Tables TraceStep derive",
    "palaestra.interop": "AdaptedEpisode EnvMaker EnvSource",
    "palaestra.serving.access": (
        "LOCAL OWNER_PATTERN Caller KeyFile KeyRecord KeyRing KeyScope RateLimiter RateLimits expand_scopes find_key "
        "make_key new_handle_secret read_keys rotate_key with_keys write_keys"
    ),
    "palaestra.serving.client": "KEY_VARIABLE ServedEnv ServedSnapshot ServedVectorEnv ServerConnection",
    "palaestra.serving.core": (
        "CODES NOT_BEGUN OPERATIONS STATUS SWITCHES BatchAnswer CreateItem EpisodeEntry EpisodeLedger ItemBatch "
        "ItemReader LedgerOutcome Operation OperationRunner ServedWorld ServedWorlds SessionCore SessionLimits "
        "StoredSnapshot TaskHandles code_of error_json error_of SessionCounts"
    ),
    "palaestra.serving.http": (
        "HttpLimits JsonFormatter WorldServer caller_of check_local_host is_loopback log_to make_app make_server "
        "read_body run_app serve"
    ),
    "palaestra.serving.mcp": (
        "BRIEFING_URI END_META LocalResult LocalSession McpCall McpHttpAnswer REQUEST_META REWARD_META SessionEndpoint "
        "TURN_META make_session_server"
    ),
    "palaestra.serving.workers": (
        "CoreRunner CoreThread ProcessLauncher WorkerLauncher WorkerLink WorkerName WorkerPool WorkerSettings "
        "WorkerTimeouts collect_rarely worker_of"
    ),
    "palaestra.tools": (
        "CHAT_FORMATS CONTROL FORMATS TYPED_CONTROL ActKind ActionFormat ActionReading CallResult ChatFormat "
        "CompactFormat CompactToolsFormat FactsFormat HermesFormat JournaledState JsonFormat Mark OpaqueFormat "
        "ParsedTurn PlannedTurn PlannerFormat PythonFormat QwenFormat Reads Rendering Schemas SmolLM2Format Tool "
        "ToolContext Toolbox TurnPart add_turn anthropic_tools bind_tools finish from_anthropic from_openai give_up "
        "join_answers legal_call plain_call plain_text read_action read_plain_call read_plan reply run_composite "
        "sample_call sample_value short_schema to_anthropic to_openai tool"
    ),
    "palaestra.tools.actions": "ActionReading read_action read_arguments read_model_value read_plain_call",
    "palaestra.tools.chats": "add_turn anthropic_tools from_anthropic from_openai to_anthropic to_openai",
    "palaestra.tools.formats": (
        "CHAT_FORMATS FORMATS ActionFormat ChatFormat CompactFormat CompactToolsFormat DeepSeekFormat FactsFormat "
        "FunctionCallFormat GlmFormat HarmonyFormat HermesFormat JsonFormat KimiK2Format Llama3Format Mark "
        "OpaqueFormat ParsedTurn PlannedTurn PlannerFormat PythonFormat Qwen3CoderFormat QwenFormat Rendering "
        "SmolLM2Format TurnPart bind_tools read_plan"
    ),
    "palaestra.tools.sandbox": (
        "SANDBOXES SANDBOX_VARIABLE AnswerCall CallAnswer CodeResult DockerSandbox Guest GuestEnd NamespaceSandbox "
        "Program Sandbox SandboxLimits StopCause describe_client function_texts run_program sandbox_name"
    ),
    "palaestra.trainers": (
        "AlarmConfig BranchingConfig ChoiceConfig CriticConfig ExpertConfig GroupRule GroupStageConfig "
        "GrpoBranchingConfig GrpoConfig GrpoLoop LearnerConfig Loop ModelConfig NativeConfig "
        "ObjectiveConfig OpenProgressBar PlayConfig Policy PolicyConfig PoolConfig ProgressBar RecordedRun "
        "RejectionConfig ReplicasConfig RolloutJob RolloutResult RolloutWorlds RunPlan SftConfig SftLoop StageConfig "
        "StageProgress StageResult Staleness TrainConfig WeightNoiseConfig WorldConfig demonstrations_of env_id_of "
        "initial_policy load_config load_policy plan_run play_jobs read_config read_progress recorded_batches run "
        "run_loop tasks_of worlds_of"
    ),
    "palaestra.trainers.branching": (
        "Brancher BranchingConfig GrpoBranchingConfig Pivot PlannedBranch RecoveryModel RecoveryOdds best_pivot "
        "first_naming fit_odds is_solved naming_pivot pivot_weights recoverable_pivot with_branches"
    ),
    "palaestra.trainers.choice": (
        "ChoiceConfig ChoiceRule DecayedRates DrawInstance GroupOutcome InstanceKind PartitionHead TaskChooser "
        "TaskFamily UtilityPredictor bandit_weights draw_listed feature_matrix group_families pick_best pick_weighted "
        "solve_utility"
    ),
    "palaestra.trainers.critic": "Critic CriticConfig CriticLoss ValueReading value_reading",
    "palaestra.trainers.data.layouts": "LAYOUTS LayoutName packed_layout padded_layout shared_layout",
    "palaestra.trainers.engines.native": (
        "EngineArrivals EnginePlan EngineSchedule FreeSchedule NativeConfig NativeEngine ReplaySchedule "
        "ScheduleRecorder TurnKey WeightUpdate Withdrawal recorded_placements"
    ),
    "palaestra.trainers.engines.native.kernels": (
        "BLOCK_PLACES HEAD_DIMS CompiledPass InvariantKernels Kernels invariant_kernels kernels"
    ),
    "palaestra.trainers.engines.remote": "RemoteEngine RemoteEngineConfig",
    "palaestra.trainers.engines.replicas": "ReplicaEngine ReplicasConfig",
    "palaestra.trainers.engines.vllm": "VllmConfig VllmEngine",
    "palaestra.trainers.learner": ("Learner LearnerConfig LoraConfig Precision TokenScores score_tokens"),
    "palaestra.trainers.loops": (
        "ExpertConfig GroupStageConfig GrpoConfig GrpoLoop KeepConfig Loop ModelConfig PolicyConfig RecordedRun "
        "RejectionConfig RunPlan SaveConfig SelfImitationLoop SftConfig SftLoop StageConfig StageProgress "
        "StageResult TrainConfig WeightNoiseConfig WorldConfig demonstrations_of env_id_of initial_policy "
        "load_config plan_run read_config read_progress recorded_batches run run_loop tasks_of worlds_of"
    ),
    "palaestra.trainers.monitors": (
        "TRACKERS Alarm AlarmAction AlarmConfig Alarms Collapse JsonLinesTracker OpenTracker RolloutAlarmConfig "
        "StageEvent StageReporter Tracker collapse difficulty_metrics policy_metrics read_log rollout_metrics "
        "sampled_tokens solve_rates step_figures template_metrics tracker_named"
    ),
    "palaestra.trainers.fillers": (
        "FILLERS SHOWN BatchFiller ChatModelConfig ChosenFiller FillColumn Filler FillerInput JudgeLabels JudgeScores "
        "Need NumberKind Probe ReferenceSolutionLogprobs RewardLabels answer_calls check_column choose_fillers column "
        "comparisons_of fillers_of mean_logprobs needs_of probes_of read_judgements"
    ),
    "palaestra.trainers.objectives": (
        "COLUMNS PARTS PLUGS Aggregation BatchColumn BuiltObjective ComposedObjective Loss Masking Metrics Objective "
        "ObjectiveConfig Part PreparedStep Preset RatioConfig Recipe SupervisedObjective Surrogate Term "
        "UpdateSchedule build constants corrects_stale import_parts part part_of preset presets read_recipe"
    ),
    "palaestra.trainers.objectives.advantages": (
        "Adca AgentPrm BiLevelGae BlockwiseAdvantage Cm2 DrMas Estimates Gae Gdpo Gigpo Gpg GroupAdvantage "
        "Hiper History Igpo Mig MtGrpo Opob OpobProxy Otb PassAtK Potential ReinforcePlus ReinforcePlusKl "
        "Sharp Streams VTrace VTraceValues ValueAdvantage Vapo action_numbers attributed_advantages "
        "block_advantages checklist_advantages first_satisfaction gae gae_estimates gigpo_advantages "
        "gpg_factor group_advantages hiper_streams leads leave_one_out leave_one_out_values likelihood_gains "
        "maxrl monotone_gains monte_carlo_targets mtgrpo_advantages off_optimal_baseline opo "
        "potential_differences reinforce_plus_baseline remax returns_to_go rloo role_advantages "
        "shaped_rewards shapley_values shares state_values td_targets token_baseline token_rewards "
        "turn_advantages vtrace whiten"
    ),
    "palaestra.trainers.objectives.corrections": (
        "DecoupledWeight IcePop SequenceTis TokenTis log_mismatch no_correction proximal_logprobs"
    ),
    "palaestra.trainers.objectives.filters": (
        "Prof Rank RephrasedSolutions UncertainGroups keep_groups mixed_groups ranks"
    ),
    "palaestra.trainers.objectives.masks": (
        "Anchors EntropyTop M2po Opsm RejectTokens S2t drop_invalid_turns drop_truncated greatest_share"
    ),
    "palaestra.trainers.objectives.rates": "Ess effective_share",
    "palaestra.trainers.objectives.regularisers": "Entropy Kl MovePenalty PositiveNll divergence",
    "palaestra.trainers.objectives.rewards": (
        "FlippedVerdicts KlInReward Laconic PayBounded PayHarmScale PaySolved PayUnfinished PayUngraded RewardUnit "
        "SoftOverlong ToolBonus overlong_penalty pay_at_end"
    ),
    "palaestra.trainers.objectives.temperatures": "IntroLlm",
    "palaestra.trainers.objectives.transforms": "Arm BatchNorm ChecklistStream DropSmall confidences normalised_stream",
    "palaestra.trainers.objectives.trust": (
        "Cispo Clip ClipCov Dcpo Dppo Gmpo KlCov Lad LpReg Luffy Maspo Reinforce Sapo SquarePenalty StepColumns "
        "Surrogate TrustRegion UnclippedRatio Vespo covariance generator"
    ),
    "palaestra.trainers.objectives.whole": (
        "Dpo FlowRl Ipo Kto LearnableLoss MlpPartition Oapl PacedRl Pairs Partition Spin Sppo TablePartition "
        "WholeTrajectoryObjective best_and_worst demonstration_pairs lengths partition soft_best token_sum "
        "trajectory_mean win_rates"
    ),
    "palaestra.trainers.pretrained": "MODELS PretrainedModel checkpoint_of find_installed_model install_model",
    "palaestra.trainers.reference": (
        "ControlStage GrpoStage ModelShape OptimiserConfig ReferenceGrpoConfig ReferenceJob ReferenceLearner "
        "ReferencePolicy ReferenceProgress ReferenceStage ReferenceStageResult RolloutConfig WarmUpConfig "
        "WarmUpStage load_policy run_stage"
    ),
    "palaestra.trainers.rollouts.worlds": "DelayedWorlds Latency LocalWorlds ProcessWorlds Timeouts WorldSpec",
    "palaestra.trainers.updates": (
        "POLICY TrainableHead TrainableModel fill_columns fill_current_logprobs filter_trajectories initial_columns "
        "reshape_rewards temperature_metrics train_minibatches train_temperature_head train_turn_by_turn"
    ),
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
        if "__all__" in path.read_text()
        and not path.match("benchmarks/external/*/served/*")  # that runs under another interpreter
    }
    internal = {
        "palaestra.envs.worlds.insurer.tools",
        "palaestra.envs.worlds.shop.site",
        "palaestra.envs.worlds.storefront.refusal_conditions",
        "palaestra.envs.worlds.storefront.invariants",
        "palaestra.envs.worlds.storefront.letters",
        "palaestra.envs.worlds.storefront.population",
        "palaestra.envs.worlds.storefront.site",
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
    light = {"palaestra", "palaestra.env_settings", "palaestra.errors", "palaestra.packs", "palaestra.version"}
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
