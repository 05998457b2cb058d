import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.urls import address_of
from corpus_assets.decontam.settings import ExclusionSettings
from corpus_assets.decontam.source_exclusions import Exclusions

PLACES = Exclusions(
    {
        "nothing": ExclusionSettings(),
        "he": ExclusionSettings(
            addresses=("Leaks.example", "https://data.example.org/sets", "bare.example/"),
            repositories=("OpenAI/Human-Eval",),
        ),
        "late": ExclusionSettings(addresses=("late.example",)),
    }
)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://github.com/openai/human-eval", "he: OpenAI/Human-Eval"),
        ("https://github.com/openai/human-eval.git", "he: OpenAI/Human-Eval"),
        ("https://github.com/openai/human-eval?tab=readme", "he: OpenAI/Human-Eval"),
        ("https://raw.example.com/OpenAI/human-eval/master/x", "he: OpenAI/Human-Eval"),
        ("https://github.com/openai/human-evaluation", None),
        ("https://github.com/notopenai/human-eval", None),
        ("https://blog.example/?about=/openai/human-eval/", None),
        ("http://a.leaks.example/page", "he: leaks.example"),
        ("http://notleaks.example/page", None),
        ("http://www.data.example.org/sets", "he: https://data.example.org/sets"),
        ("http://data.example.org/sets/x?y=1", "he: https://data.example.org/sets"),
        ("http://data.example.org/setsuna", None),
        ("http://bare.example/", "he: bare.example/"),
        ("http://bare.example/any", "he: bare.example/"),
        ("http://late.example/", "late: late.example"),
    ],
)
def test_pages_are_told_by_host_address_and_repository(url: str, place: str | None) -> None:
    address = address_of(url)
    assert address is not None
    assert PLACES.match(address.key, address.host) == place


def test_source_files_are_told_by_their_key() -> None:
    table = pa.table(
        {
            "url_key": ["code:openai/human-eval/data.py", "code:tree/human-eval/x.py", "code:x"],
            "host": pa.array([None, None, None], pa.string()),
        }
    )
    assert PLACES.matches(table) == {0: "he: OpenAI/Human-Eval"}
    assert Exclusions({"b": ExclusionSettings()}).matches(table) == {}


@pytest.mark.parametrize(
    "wrong",
    [{"addresses": ["not a host"]}, {"addresses": ["http://"]}, {"repositories": ["justaname"]}],
)
def test_what_could_match_nothing_is_refused(wrong: dict[str, list[str]]) -> None:
    with pytest.raises(ValidationError, match="write it like"):
        ExclusionSettings.model_validate(wrong)
