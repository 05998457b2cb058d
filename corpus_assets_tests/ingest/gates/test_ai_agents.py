import csv
from importlib.resources import files

import pytest

from corpus_assets.ingest.gates.ai_agents import checked_token, training_agents
from corpus_assets.ingest.gates.optout import header_opt_out, meta_opt_out
from corpus_assets.ingest.gates.settings import OptOutSettings


def test_the_usual_list_tells_those_who_train_from_those_who_search() -> None:
    training = {agent.lower() for agent in training_agents()}
    assert {"gptbot", "ccbot", "claudebot", "google-extended", "bytespider"} <= training
    assert not {"bingbot", "googlebot", "oai-searchbot", "chatgpt-user"} & training
    with files("corpus_assets.ingest.gates").joinpath("ai_agents.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert {row["purpose"] for row in rows} == {"training", "search", "user-fetch"}
    assert [checked_token(row["name"]) for row in rows] == [row["name"] for row in rows]


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


def test_a_recipe_replaces_the_list_by_its_own() -> None:
    settings = OptOutSettings(agents=("MyTrainer",))
    assert meta_opt_out(b'<meta name="mytrainer" content="noai">', settings) == "noai"
    assert meta_opt_out(b'<meta name="gptbot" content="noai">', settings) is None
    assert settings.identity() != OptOutSettings().identity()
    with pytest.raises(ValueError, match="product token"):
        OptOutSettings(agents=("A Bot",))
