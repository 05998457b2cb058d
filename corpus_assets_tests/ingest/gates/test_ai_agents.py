import hashlib
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import RecipeError
from corpus_assets.ingest.gates import ai_agents
from corpus_assets.ingest.gates.ai_agents import AiAgents, read_ai_agents, usual_agents
from corpus_assets.ingest.gates.optout import OptOutSettings, header_opt_out, meta_opt_out

OWN = "name,purpose\nMyTrainer,training\nMyFinder,search\n"


def recipe(agents: Any) -> dict[str, Any]:
    return {"documents": {"gates": {"optout": {"ai_agents": agents}}}}


def read(tmp_path: Path, content: str) -> dict[str, Any]:
    (tmp_path / "agents.csv").write_text(content)
    raw = recipe({"file": "agents.csv"})
    read_ai_agents(raw, tmp_path)
    found: dict[str, Any] = raw["documents"]["gates"]["optout"]["ai_agents"]
    return found


def test_the_usual_list_tells_those_who_train_from_those_who_search() -> None:
    training = {agent.lower() for agent in usual_agents().training}
    assert {"gptbot", "ccbot", "claudebot", "google-extended", "bytespider"} <= training
    assert not {"bingbot", "googlebot", "oai-searchbot", "chatgpt-user"} & training
    file = Path(ai_agents.__file__).with_name("ai_agents.csv")
    assert usual_agents().sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("robots", True),
        ("GPTBot", True),
        ("gptbot", True),
        ("CCBOT", True),
        ("bingbot", False),
        ("googlebot", False),
        ("msnbot", False),
        ("gptbot-image", False),
        ("description", False),
    ],
)
def test_a_directive_counts_where_its_agent_trains(name: str, counts: bool) -> None:
    markup = f'<meta name="{name}" content="noai">'.encode()
    expected = "noai" if counts else None
    assert meta_opt_out(markup, OptOutSettings()) == expected
    if name != "description":
        assert header_opt_out([f"{name}: noai"], "", OptOutSettings()) == expected


def test_a_recipe_replaces_the_list_by_its_own(tmp_path: Path) -> None:
    found = AiAgents.model_validate(read(tmp_path, OWN))
    assert found.training == ("MyTrainer",)
    assert found.sha256 == hashlib.sha256(OWN.encode()).hexdigest()
    settings = OptOutSettings(ai_agents=found)
    assert meta_opt_out(b'<meta name="mytrainer" content="noai">', settings) == "noai"
    assert meta_opt_out(b'<meta name="gptbot" content="noai">', settings) is None
    assert settings.identity() != OptOutSettings().identity()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,purpose\nA Bot,training\n", "product token"),
        ("name,purpose\nBot,training,x\nBot2,sale\n", "purpose 'sale' is none of training"),
        ("agent\nBot\n", "product token"),
    ],
)
def test_a_list_that_cannot_be_read_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read(tmp_path, content)


def test_a_missing_list_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"gone\.csv cannot be read"):
        read_ai_agents(recipe({"file": "gone.csv"}), tmp_path)
    read_ai_agents({"documents": None}, tmp_path)
    with pytest.raises(ValueError, match="read with the recipe's file"):
        AiAgents(file="a.csv")
