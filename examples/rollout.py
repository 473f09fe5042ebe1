"""One episode, step by step: the oracle's calls, and what the rubric pays for each."""

import gymnasium as gym

import palaestra  # registers the environments

env = gym.make("palaestra/Storefront-v0", split="train")
messages, info = env.reset(seed=7)
print(messages[1]["content"], "\n")
print(f"{info['task'].id}, {len(info['tools'])} tools, palaestra {palaestra.__version__}\n")

score = 0.0
for call in env.unwrapped.oracle():
    action = {"tool": call.tool, "arguments": dict(call.arguments)}
    messages, reward, terminated, truncated, info = env.step(action)
    score += reward
    print(f"{call.tool:24} {reward:+4.0f}  {messages[-1]['content'][:60]}")

print(f"\nscore {score:.0f}, solved: {info['score'].passed}, ended: {info['end']}")
