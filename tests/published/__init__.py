"""The constants of every preset, as their papers and their authors' code have them.

A second table, written from the sources and not from the presets. "Ours" begins the source of a value that no source
gives, or that deviates from it; the rest says what the source has.
"""

from collections.abc import Mapping
from typing import TypeAlias

Published: TypeAlias = tuple[float | str | tuple[float, ...], str]
"""A value, and where it is from."""

PPO_CLIP = "arXiv:1707.06347, section 6.1"
DAPO_CLIP = "arXiv:2503.14476, section 4.1"
DAPO_SCRIPT = "github.com/volcengine/verl, recipe/dapo: clip_ratio_c"
ALFWORLD = "github.com/JonP07/HiPER-agent, examples/ppo_trainer/run_alfworld_dev_h100.sh"
GUARD = "github.com/volcengine/verl, core_algos.py: epsilon of compute_grpo_outcome_advantage"
KL_CAP = "github.com/volcengine/verl, core_algos.py: kl_penalty clamps low_var_kl"
LAD = "Ours; arXiv:2602.20132 found 0.5 to 16 alike"
UNKNOWN = "Ours; the paper's is not known to us"

OF_PARTS: Mapping[str, Published] = {
    "adca.alpha": (0.1, "github.com/modelscope/AgentEvolver, adca_grpo_pipeline.py"),
    "adca.base": (0.2, "github.com/modelscope/AgentEvolver, adca_grpo_pipeline.py: fix_base"),
    "adca.consistent": (1.0, "github.com/modelscope/AgentEvolver, adca_grpo_pipeline.py: consistent_scale"),
    "adca.epsilon": (1e-8, "github.com/modelscope/AgentEvolver, prm_grpo.py: eps"),
    "adca.inconsistent": (0.2, "github.com/modelscope/AgentEvolver, adca_grpo_pipeline.py: pos_unconsistent_scale"),
    "adca.scheme": ("decoupled", "github.com/modelscope/AgentEvolver, adca_grpo_pipeline.py: prm_scheme decouple"),
    "adca.threshold": (0.5, "Ours; the authors' code has above 0; the scheme allocation alone reads it"),
    "agent-prm.estimate": ("monte-carlo", "arXiv:2502.10325; github.com/sanjibanc/agent_prm"),
    "agent-prm.gamma": (1.0, "Ours; github.com/sanjibanc/agent_prm has 0.95, and discounts from the beginning"),
    "agent-prm.lam": (0.95, "Ours; the estimate td alone reads it"),
    "arm.alpha": (0.3, UNKNOWN),
    "arm.share": (0.2, "arXiv:2602.05281, by a transcription: the fifth of the tokens that are least likely"),
    "batch-norm.clamp": (3.0, "github.com/modelscope/AgentEvolver, branch seeupo: ba_ray_trainer.py"),
    "checklist-stream.assignment": ("trajectory", "arXiv:2602.12268: its default"),
    "checklist-stream.least": (2, "Ours; arXiv:2602.12268, its code skips turns with 4 or fewer"),
    "checklist-stream.weight": (1.0, "Ours: the streams count alike"),
    "cispo.high": (4.0, "arXiv:2510.13786 (ScaleRL): a cap of 5 on the weight; arXiv:2506.13585 gives none"),
    "cispo.low": (1.0, "arXiv:2506.13585: no lower bound"),
    "clip-cov.fraction": (2e-4, "arXiv:2505.22617; github.com/volcengine/verl: clip_cov_ratio"),
    "clip-cov.high": (0.2, PPO_CLIP),
    "clip-cov.least": (1.0, "github.com/volcengine/verl, core_algos.py: clip_cov_lb"),
    "clip-cov.low": (0.2, PPO_CLIP),
    "clip-cov.most": (5.0, "github.com/volcengine/verl, core_algos.py: clip_cov_ub"),
    "clip.high": (0.2, PPO_CLIP),
    "clip.low": (0.2, PPO_CLIP),
    "cm2.assignment": ("trajectory", "arXiv:2602.12268: its default"),
    "cm2.divisor": (1.0, "arXiv:2602.12268: F = 1, no deviation"),
    "cm2.least": (2, "Ours; arXiv:2602.12268, its code skips turns with 4 or fewer"),
    "dcpo.high": (0.2, "github.com/lime-RL/DCPO"),
    "dcpo.low": (0.16, "github.com/lime-RL/DCPO"),
    "dcpo.most": (10.0, "github.com/lime-RL/DCPO: the cap of the upper bound, and the dual clip"),
    "decoupled.cap": (5.0, "github.com/inclusionAI/AReaL, examples/math/gsm8k_m2po.yaml: behav_imp_weight_cap"),
    "dpo.beta": (0.1, "arXiv:2305.18290, appendix B"),
    "dppo.cap": (20.0, "github.com/volcengine/verl, core_algos.py: dppo_tv"),
    "dppo.high": (0.2, "github.com/volcengine/verl, core_algos.py: dppo_tv"),
    "dppo.low": (0.2, "github.com/volcengine/verl, core_algos.py: dppo_tv"),
    "dr-mas.epsilon": (1e-6, "github.com/langfengQ/DrMAS"),
    "drop-small.below": (0.01, "github.com/apple/ml-loop"),
    "entropy-top.share": (0.2, "arXiv:2506.01939: a fifth of the tokens"),
    "ess.base": (1.0, "github.com/mit-han-lab/vcpo, shell/vcpo/math: ess_scaling_base_ess_ratio"),
    "flowrl.beta": (15.0, "arXiv:2509.15207; github.com/Xuekai-Zhu/FlowRL"),
    "flowrl.clip": (
        0.2,
        "github.com/volcengine/verl: clip_ratio, of the authors' framework; their code leaves the weight unclipped",
    ),
    "flowrl.epsilon": (1e-6, GUARD),
    "flowrl.partition": ("table", "Ours; the paper's is a network on the prompt's hidden states"),
    "flowrl.rate": (0.001, "Ours"),
    "flowrl.width": (128, "Ours"),
    "gae.gamma": (1.0, "github.com/volcengine/verl, ppo_trainer.yaml: gamma"),
    "gae.lam": (1.0, "github.com/volcengine/verl, ppo_trainer.yaml: lam; arXiv:1707.06347, table 3, has 0.95"),
    "gdpo.epsilon": (1e-6, GUARD),
    "gigpo.epsilon": (1e-6, "github.com/langfengQ/verl-agent, core_gigpo.py"),
    "gigpo.gamma": (0.95, "github.com/langfengQ/verl-agent, run_alfworld.sh: gamma"),
    "gigpo.scale": ("mean-std", "github.com/langfengQ/verl-agent, run_alfworld.sh: mode mean_std_norm"),
    "gigpo.weight": (1.0, "github.com/langfengQ/verl-agent, run_alfworld.sh: step_advantage_w"),
    "gmpo.high": (0.4, "arXiv:2507.20673: the clip of log-ratios"),
    "gmpo.low": (0.4, "arXiv:2507.20673: the clip of log-ratios"),
    "gpg.epsilon": (1e-6, GUARD),
    "group.epsilon": (1e-6, GUARD),
    "hiper.bootstrap_truncated": ("true", ALFWORLD),
    "hiper.gamma": (1.0, "github.com/JonP07/HiPER-agent, hiper_hae/core_hae.py"),
    "hiper.inconsistent": (-0.3, f"{ALFWORLD}: keep_consistency_penalty"),
    "hiper.invalid": (-0.1, f"{ALFWORLD}: invalid_action_penalty_coef"),
    "hiper.keep": (-0.3, f"{ALFWORLD}: keep_penalty"),
    "hiper.lambda_segment": (0.95, "github.com/JonP07/HiPER-agent, hiper_hae/core_hae.py"),
    "hiper.lambda_turn": (1.0, "github.com/JonP07/HiPER-agent, hiper_hae/core_hae.py"),
    "hiper.normalised": ("true", f"{ALFWORLD}: norm_adv"),
    "icepop.high": (5.0, "github.com/volcengine/verl, rollout correction: icepop"),
    "icepop.low": (0.5, "github.com/volcengine/verl, rollout correction: icepop"),
    "igpo.epsilon": (1e-6, GUARD),
    "igpo.gamma": (1.0, "github.com/GuoqingWang1/IGPO, ppo_trainer.yaml: gamma"),
    "introllm.alternate": (1, "Ours; arXiv:2602.13035 takes turns, and their length is not known to us"),
    "introllm.epsilon": (1.0, UNKNOWN),
    "introllm.high": (1.5, UNKNOWN),
    "introllm.low": (0.5, UNKNOWN),
    "introllm.rate": (1e-3, UNKNOWN),
    "ipo.beta": (0.1, "github.com/huggingface/trl, dpo_config.py: beta; arXiv:2310.12036 has none of its own"),
    "kl-cov.coefficient": (1.0, "arXiv:2505.22617; github.com/volcengine/verl: ppo_kl_coef"),
    "kl-cov.fraction": (2e-4, "github.com/volcengine/verl, core_algos.py: kl_cov_ratio"),
    "kl-in-reward.beta": (0.05, "github.com/huggingface/trl, rloo_config.py: beta"),
    "kl.most": (10.0, KL_CAP),
    "kto.beta": (0.1, "arXiv:2402.01306; github.com/huggingface/trl, kto_config.py"),
    "kto.desirable": (1.0, "arXiv:2402.01306; github.com/huggingface/trl, kto_config.py"),
    "kto.undesirable": (1.0, "arXiv:2402.01306; github.com/huggingface/trl, kto_config.py"),
    "laconic.budget": (1500.0, "arXiv:2602.14468: 1500 to 3000 in its larger runs"),
    "laconic.ceiling": (0.002, "arXiv:2602.14468, its guide: Lambda"),
    "laconic.floor": (0.0, "arXiv:2602.14468; the code has 3e-4"),
    "laconic.hit": (0.01, "arXiv:2602.14468, its code; off while no greatest length is given"),
    "laconic.most": (0.04, "arXiv:2602.14468, its code: the cap of a sample's penalty"),
    "laconic.rate": (0.002, "arXiv:2602.14468: eta; the code has 3.5e-3"),
    "laconic.start": (0.0, "arXiv:2602.14468: lambda_0"),
    "lad.eta": (1.0, LAD),
    "lp-reg.beta": (1.0, "github.com/CarlanLark/Lp-Reg-dev"),
    "lp-reg.high": (9.0, "github.com/CarlanLark/Lp-Reg-dev: clip_high"),
    "lp-reg.low": (1.0, "github.com/CarlanLark/Lp-Reg-dev: clip_low"),
    "lp-reg.share": (0.01, "arXiv:2510.03222: the bottom 1 %, and 0.5 % for 32B"),
    "luffy.gamma": (0.1, "arXiv:2504.14945; github.com/ElliottYan/LUFFY"),
    "m2po.tau": (0.04, "arXiv:2510.01161; github.com/inclusionAI/AReaL, examples/math/gsm8k_m2po.yaml: m2_threshold"),
    "maspo.negative": (0.03, "arXiv:2602.17550, its README: beta_low"),
    "maspo.positive": (0.03, "arXiv:2602.17550, its README: beta_high"),
    "maspo.rarity": (0.3, "arXiv:2602.17550, its README: alpha; 0.5 for 1.5B"),
    "maspo.sigma": (1.0, "arXiv:2602.17550, its README: sigma_base"),
    "mig.epsilon": (1e-6, "Ours"),
    "mig.gain": (1.0, UNKNOWN),
    "mig.outcome": (1.0, UNKNOWN),
    "mt-grpo.epsilon": (1e-4, "github.com/SiliangZeng/Multi-Turn-RL-Agent"),
    "mt-grpo.weight": (1.0, "github.com/SiliangZeng/Multi-Turn-RL-Agent"),
    "oapl.beta1": (0.5, UNKNOWN),
    "oapl.beta2": (0.5, f"{UNKNOWN}; one beta, as in its derivation"),
    "oapl.scaled": ("true", "Ours: a gradient of REINFORCE's size where the policy has not moved"),
    "opob-proxy.epsilon": (1e-8, "github.com/mit-han-lab/vcpo"),
    "opob-proxy.scale": ("owner", "github.com/mit-han-lab/vcpo, shell/vcpo: grad_baselining_norm_by_std"),
    "opob.epsilon": (1e-8, "github.com/mit-han-lab/vcpo"),
    "opob.scale": ("owner", "github.com/mit-han-lab/vcpo, shell/vcpo: grad_baselining_norm_by_std"),
    "opsm.delta": (0.5, "Ours; a test of TRL's has it, and no paper gives one"),
    "paced.beta": (0.05, "arXiv:2602.12642, by a transcription"),
    "paced.partition": ("table", "Ours; the paper's is a network on embeddings of prompts"),
    "paced.rate": (0.5, "Ours; log Z has to come to return / beta, and takes about rate a visit"),
    "paced.width": (128, "Ours"),
    "pass-at-k.epsilon": (1e-6, GUARD),
    "positive-nll.coefficient": (0.1, "arXiv:2504.05118: mu"),
    "prof.keep": (4, "Ours; half of what is drawn"),
    "rank.keep": (64, "arXiv:2602.20739: the batch"),
    "reinforce-pp-kl.beta": (0.01, "github.com/OpenRLHF/OpenRLHF, train_reinforce_llama_ray.sh: init_kl_coef"),
    "reinforce-pp-kl.gamma": (1.0, "github.com/OpenRLHF/OpenRLHF: gamma"),
    "reject.high": (2.0, "github.com/volcengine/verl, rollout correction: decoupled_seq_is_rs"),
    "reject.level": ("sequence-sum", "github.com/volcengine/verl, rollout correction: decoupled_seq_is_rs"),
    "reject.low": (0.5, "github.com/volcengine/verl, rollout correction: decoupled_seq_is_rs"),
    "repo.failure": (0.5, "Ours; arXiv:2602.10819 does not state its delta"),
    "repo.share": (0.75, "Ours; arXiv:2602.10819 does not state its rho_f"),
    "s2t.probability": (0.002, "arXiv:2602.15620, by a transcription: tau_p"),
    "s2t.quantile": (0.8, "arXiv:2602.15620, by a transcription: tau_h"),
    "sapo.negative": (1.05, "arXiv:2511.20347: tau_neg"),
    "sapo.positive": (1.0, "arXiv:2511.20347: tau_pos"),
    "schedule.clip": (0.2, "github.com/modelscope/AgentEvolver, branch seeupo: ba_ray_trainer.py"),
    "sequence-tis.cap": (2.0, "github.com/volcengine/verl, rollout correction: decoupled_seq_is"),
    "sharp.contribution": (0.3, UNKNOWN),
    "sharp.epsilon": (1e-6, "Ours"),
    "sharp.validity": (0.1, UNKNOWN),
    "spin.beta": (0.1, "arXiv:2401.01335: lambda"),
    "sppo.beta": (0.001, "github.com/uclaml/SPPO, scripts/pipeline.sh: beta"),
    "square.beta": (0.1, "Ours; arXiv:2405.19107 and arXiv:2501.12599 tune it"),
    "token-tis.cap": (2.0, "github.com/volcengine/verl, rollout correction: decoupled_token_is"),
    "tool-bonus.coefficient": (0.1, "arXiv:2602.20739"),
    "tool-bonus.most": (5, "Ours; without a bound calls would be farmed"),
    "uncertain.amount": (0.25, "github.com/RAGEN-AI/RAGEN, config/base.yaml: rollout_filter_ratio"),
    "unit": (1.0, "rewards of 0 and 1"),
    "v-trace.gamma": (1.0, "Ours; arXiv:1802.01561 has 0.99 for its games"),
    "v-trace.lam": (1.0, "arXiv:1802.01561: lambda"),
    "v-trace.most": (1.0, "arXiv:1802.01561: rho_bar"),
    "v-trace.most_gradient": (1.0, "github.com/google-deepmind/rlax, vtrace.py: clip_pg_rho_threshold"),
    "vapo.alpha": (0.05, "arXiv:2504.05118: alpha"),
    "vapo.critic_lam": (1.0, "arXiv:2504.05118: lambda_critic"),
    "vapo.gamma": (1.0, "arXiv:2504.05118"),
    "vespo.negative": ((3.0, 2.0), "github.com/FloyedShen/VESPO"),
    "vespo.positive": ((2.0, 3.0), "github.com/FloyedShen/VESPO"),
}
"""Of each part, where a preset does not have another."""

_CLIP_HIGHER: Mapping[str, Published] = {"clip.low": (0.2, DAPO_CLIP), "clip.high": (0.28, DAPO_CLIP)}
_GSPO: Mapping[str, Published] = {
    "clip.low": (3e-4, "arXiv:2507.18071, section 5.1"),
    "clip.high": (4e-4, "arXiv:2507.18071, section 5.1"),
}
_RAGEN: Mapping[str, Published] = {
    "clip.low": (0.2, "github.com/RAGEN-AI/RAGEN, config/base.yaml: clip_ratio_low"),
    "clip.high": (0.28, "github.com/RAGEN-AI/RAGEN, config/base.yaml: clip_ratio_high"),
}
_VCPO: Mapping[str, Published] = {
    "sequence-tis.cap": (8.0, "github.com/mit-han-lab/vcpo, shell/vcpo: rollout_is_threshold"),
}
OF_PRESETS: Mapping[str, Mapping[str, Published]] = {
    "cm2": {
        "kl.estimator": ("k3", "Ours; arXiv:2602.12268 does not say which"),
        "kl.coefficient": (0.001, "arXiv:2602.12268: KL"),
    },
    "dapo": {
        **_CLIP_HIGHER,
        "clip.dual": (10.0, DAPO_SCRIPT),
        "refill": (9, "Ours; github.com/volcengine/verl, recipe/dapo: max_num_gen_batches 10"),
    },
    "dr_grpo": {
        "group.scale": ("none", "arXiv:2503.20783, section 3.2"),
        "aggregation.length": (1024, "Ours; arXiv:2503.20783 has the greatest length"),
    },
    "dro": {"group.scale": ("none", "arXiv:2501.12599: the mean of rewards is the baseline")},
    "gigpo": {
        "kl.estimator": ("k3", "github.com/langfengQ/verl-agent, run_alfworld.sh: kl_loss_type"),
        "kl.coefficient": (0.01, "github.com/langfengQ/verl-agent, run_alfworld.sh: kl_loss_coef"),
    },
    "grpo_kl": {
        "kl.estimator": ("k3", "arXiv:2402.03300, equation 4"),
        "kl.coefficient": (0.04, "arXiv:2402.03300, section 4.2"),
    },
    "gspo": _GSPO,
    "gspo_turn": {
        "clip.low": (3e-4, "Ours; arXiv:2507.18071, section 5.1, has it for sequences"),
        "clip.high": (4e-4, "Ours; arXiv:2507.18071, section 5.1, has it for sequences"),
    },
    "high_entropy": {**_CLIP_HIGHER, "clip.dual": (10.0, DAPO_SCRIPT)},
    "hiper": {
        "unit": (10.0, "github.com/langfengQ/verl-agent: ALFWorld pays 10 for a solved task"),
        "kl.estimator": ("k3", f"{ALFWORLD}: kl_loss_type"),
        "kl.coefficient": (0.01, f"{ALFWORLD}: kl_loss_coef"),
    },
    "igpo": {
        "unit": (1.0, "arXiv:2510.14967: the outcome is an F1 score"),
        "kl.estimator": ("k3", "github.com/GuoqingWang1/IGPO, ppo_trainer.yaml: kl_loss_type"),
        "kl.coefficient": (0.001, "github.com/GuoqingWang1/IGPO, ppo_trainer.yaml: kl_loss_coef"),
        "entropy.coefficient": (0.001, "github.com/GuoqingWang1/IGPO, ppo_trainer.yaml: entropy_coeff"),
    },
    "justrl": {
        "clip.low": (0.2, "github.com/thunlp/JustRL"),
        "clip.high": (0.28, "github.com/thunlp/JustRL"),
        "clip.dual": (10.0, "github.com/thunlp/JustRL"),
    },
    "loop": {
        "clip.low": (1 / 6, "arXiv:2502.01600; github.com/apple/ml-loop: 1 - 1 / (1 + 0.2)"),
        "clip.high": (0.2, "arXiv:2502.01600; github.com/apple/ml-loop"),
    },
    "luffy": {
        "group.scale": ("none", "github.com/ElliottYan/LUFFY: use_std False"),
        "aggregation.length": (8192, "github.com/ElliottYan/LUFFY: the greatest length"),
        "entropy.coefficient": (0.001, "github.com/ElliottYan/LUFFY: entropy_coeff"),
    },
    "luspo": {"clip.low": (2e-3, "arXiv:2602.05261"), "clip.high": (2.5e-3, "arXiv:2602.05261")},
    "oapl": {"unit": (1.0, "rewards of 0 and 1, for which beta is ours")},
    "pyvision": {"group.scale": ("none", "github.com/agents-x-project/PyVision-RL")},
    "ragen2": {
        **_RAGEN,
        "uncertain.strategy": ("top_p", "arXiv:2604.06268; github.com/RAGEN-AI/RAGEN"),
        "uncertain.amount": (0.9, "arXiv:2604.06268; github.com/RAGEN-AI/RAGEN"),
    },
    "reinforce_pp_baseline": {
        "kl.estimator": (
            "k2",
            "github.com/OpenRLHF/OpenRLHF, train_reinforce_baseline_hybrid_engine.sh: kl_estimator",
        ),
        "kl.coefficient": (
            1e-5,
            "github.com/OpenRLHF/OpenRLHF, train_reinforce_baseline_hybrid_engine.sh: init_kl_coef",
        ),
    },
    "rloo": {"aggregation.length": (1.0, "arXiv:2402.14740: sums over tokens")},
    "seeupo": {
        "group.scale": ("none", "github.com/modelscope/AgentEvolver, branch seeupo: ba_ray_trainer.py"),
        "clip.low": (0.2, "github.com/modelscope/AgentEvolver, branch seeupo: launcher/qwen3_appworld"),
        "clip.high": (0.2, "github.com/modelscope/AgentEvolver, branch seeupo: launcher/qwen3_appworld"),
        "kl.estimator": ("k3", "github.com/modelscope/AgentEvolver, branch seeupo: launcher/qwen3_appworld"),
        "kl.coefficient": (0.002, "github.com/modelscope/AgentEvolver, branch seeupo: launcher/qwen3_appworld"),
    },
    "stapo": {**_CLIP_HIGHER, "clip.dual": (10.0, DAPO_SCRIPT)},
    "starpo_s": {
        **_RAGEN,
        "gae.gamma": (1.0, "github.com/RAGEN-AI/RAGEN, config/base.yaml: gamma, bi_level_gae False"),
        "gae.lam": (1.0, "github.com/RAGEN-AI/RAGEN, config/base.yaml: lam"),
        "entropy.coefficient": (0.001, "github.com/RAGEN-AI/RAGEN, config/base.yaml: entropy_coeff"),
    },
    "progrpo": {
        "clip.low": (0.2, "Ours; as DAPO's"),
        "clip.high": (0.28, "Ours; as DAPO's"),
    },
    "recipe_2026": {
        **_VCPO,
        "refill": (9, "Ours; github.com/volcengine/verl, recipe/dapo: max_num_gen_batches 10"),
        "unit": (1.0, "arXiv:2602.14468: its prices are of rewards of 0 and 1"),
    },
    "vapo": {
        "clip.low": (0.2, "arXiv:2504.05118: clip-higher"),
        "clip.high": (0.28, "arXiv:2504.05118: clip-higher"),
    },
    "vcpo_async": _VCPO,
    "vcpo_proxy": _VCPO,
}
"""Where a preset has something else, or has it from elsewhere."""


def published(preset: str, constant: str) -> Published:
    """What a preset's constant is in its sources."""
    return {**OF_PARTS, **OF_PRESETS.get(preset, {})}[constant]
