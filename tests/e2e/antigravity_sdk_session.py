"""One turn of Google's Antigravity agent through its SDK; run by a Python that has google-antigravity.

python antigravity_sdk_session.py --base-url=URL --workspace=DIR --state=DIR --model=NAME --prompt=TEXT

Prints one JSON object: what the agent said and the tokens of the whole conversation. Nothing of autoquant is imported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

from google.antigravity import (
    Agent,
    CapabilitiesConfig,
    GeminiAPIEndpoint,
    GeminiModelOptions,
    LocalAgentConfig,
    ModelTarget,
    ThinkingLevel,
)
from google.antigravity.hooks import policy


async def turn(options: argparse.Namespace) -> dict[str, Any]:
    endpoint = GeminiAPIEndpoint(
        api_key="any",
        base_url=options.base_url,
        options=GeminiModelOptions(thinking_level=ThinkingLevel.HIGH),
    )
    config = LocalAgentConfig(
        api_key="any",  # asked for on top of the endpoint's own; nothing is sent with it
        model=ModelTarget(name=options.model, endpoint=endpoint),
        capabilities=CapabilitiesConfig(enable_subagents=False),
        policies=[policy.allow_all()],
        workspaces=[options.workspace],
        save_dir=f"{options.state}/save",
        app_data_dir=f"{options.state}/data",
    )
    async with Agent(config) as agent:
        answer = await agent.chat(options.prompt)
        said = await answer.text()
        usage = agent.conversation.total_usage
        return {
            "said": said,
            "input": usage.prompt_token_count,
            "cached": usage.cached_content_token_count,
            "output": (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
            "reasoning": usage.thoughts_token_count,
        }


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("base-url", "workspace", "state", "model", "prompt"):
        parser.add_argument(f"--{name}", required=True)
    print(json.dumps(asyncio.run(turn(parser.parse_args()))))


if __name__ == "__main__":
    main()
