"""The model, its training and its scores: what is counted, and that damage is seen."""

import math
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.evidence.gate import compare_results, open_results
from corpus_assets.evidence.heldout import encode_heldout, make_heldout
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.results import read_runs
from corpus_assets.evidence.run import run_pack
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.evidence.tiny import (
    arm,
    heldout_rows,
    shuffled,
    tiny_encoder,
    tiny_plan,
)

torch = pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")

from corpus_assets.evidence import model as models  # noqa: E402
from corpus_assets.evidence import score, train  # noqa: E402


def scored(table: pa.Table, nats_of: object, sequence: int, eod: int, pad: int) -> pa.Table:
    layout = score.lay_out(table, sequence, eod, pad)
    nats = score.score_tokens(nats_of, models.document_mask, layout, 4, "cpu")
    return score.per_document(table, layout, nats)


@pytest.mark.filterwarnings("ignore:mkldnn")  # it has no bfloat16: that is why
def test_muon_on_a_processor_steps_as_torchs_does() -> None:
    """To the precision of bfloat16, in which torch computes it."""
    draw = torch.Generator().manual_seed(1)
    for shape in ((24, 24), (16, 40), (40, 16)):
        start = torch.randn(shape, generator=draw)
        ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
        pair = [
            train.Float32Muon([ours]),
            torch.optim.Muon(
                [theirs], weight_decay=train.WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"
            ),
        ]
        for _ in range(3):
            ours.grad = torch.randn(shape, generator=draw)
            theirs.grad = ours.grad.clone()
            for optimizer in pair:
                optimizer.param_groups[0]["lr"] = 0.01
                optimizer.step()
        moved = (theirs - start).square().mean().sqrt()
        assert (ours - theirs).square().mean().sqrt() < 0.03 * moved


def test_bits_per_byte_do_not_depend_on_the_tokenizer() -> None:
    """A model that gives every byte one chance in 256 has 8 bits a byte, however text is cut."""
    rows = heldout_rows(5)
    rows[1]["context"] = "A question that is read and not scored?"
    rows[2]["text"] = "naïve café 中文字符 " * 40
    table = make_heldout(rows)
    for vocab in (512, 640):
        encoder = tiny_encoder(vocab)
        sizes = torch.tensor(
            [float(len(encoder.token_bytes(i))) for i in range(encoder.vocab_size)]
        )

        def nats_of(tokens, targets, mask, sizes=sizes):  # type: ignore[no-untyped-def]
            spelled = sizes[targets.clamp(min=0)] * math.log(256)
            return torch.where(targets == models.IGNORED, 0.0, spelled)

        found = scored(encode_heldout(table, encoder), nats_of, 32, encoder.eod_id, encoder.pad_id)
        bits = found["nats"].to_numpy() / math.log(2) / found["bytes"].to_numpy()
        assert bits == pytest.approx(np.full(5, 8.0), rel=1e-5)
        assert found["bytes"].to_pylist() == [len(t.encode()) for t in table["text"].to_pylist()]


def test_every_token_is_scored_once_in_the_order_of_the_set_and_with_its_past() -> None:
    table = pa.table({"tokens": [list(range(10, 60)), [5, 6], list(range(7))],
                      "context": [0, 1, 7], "domain": ["a"] * 3, "host": ["a"] * 3,
                      "bytes": [50, 1, 1]})  # fmt: skip
    layout = score.lay_out(table, 16, eod_id=0, pad_id=1)
    assert layout.targets.ravel()[layout.place].tolist() == [*range(10, 60), 6]
    assert layout.document.tolist() == [0] * 50 + [1]
    assert (layout.targets != models.IGNORED).sum() == 51
    seen = layout.tokens.ravel()[layout.place[1:50]]
    assert seen.tolist() == list(range(10, 59))  # the token before stands before
    rows, at = np.divmod(layout.place[:50], 16)
    begins = layout.segments[rows, at]
    assert (at - begins)[16:].min() >= 8  # half a window of past


def test_a_token_sees_its_own_document_alone() -> None:
    made = train.build_model("nano", 64, 16, "cpu")
    made.reset(3)
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)) * 0.1)
        one = torch.arange(2, 18)[None]
        one[0, 8] = 0  # opens the second document
        other = one.clone()
        other[0, :8] = 40
        targets = train.targets_of(one, pad_id=1)
        mask = models.document_mask(train.segments_of(one, 0))
        first, second = (made(tokens, targets, mask) for tokens in (one, other))
    assert torch.equal(first[0, 8:], second[0, 8:])
    assert not torch.allclose(first[0, :7], second[0, :7])
    assert targets[0, -1] == models.IGNORED
    assert first[0, -1] == 0.0


def test_a_fixed_checkpoint_has_its_golden_number() -> None:
    """Changed arithmetic would make results of two releases incomparable."""
    made = train.build_model("nano", 64, 16, "cpu")
    with torch.no_grad():
        for number, weight in enumerate(made.parameters()):
            count = torch.arange(weight.numel(), dtype=torch.float64).view(weight.shape)
            weight.copy_(torch.sin(count * 0.37 + number) * 0.2)
        tokens = (torch.arange(32).view(2, 16) * 7) % 64
        mask = models.document_mask(train.segments_of(tokens, 0))
        nats = made(tokens, train.targets_of(tokens, 1), mask)
    assert float(nats.double().sum()) == pytest.approx(GOLDEN, rel=1e-4)


GOLDEN = 128.338874  # nats of 29 tokens, summed


def test_the_learning_rate_goes_up_stays_and_goes_down_to_the_last_step() -> None:
    rates = [train.rate_at(step, 100) for step in range(100)]
    assert rates[:6] == [0.2, 0.4, 0.6, 0.8, 1.0, 1.0]
    assert rates[60] == 1.0
    assert rates[61:] == sorted(rates[61:], reverse=True)
    assert 0 < rates[-1] < 0.05


def test_sizes_have_the_parameters_that_their_names_say() -> None:
    for size, millions in (("nano", 1.6), ("5M", 5.2), ("17M", 17.3), ("59M", 59.3)):
        with torch.device("meta"):
            made = models.Gpt(models.SIZES[size], 8192, 16)
        assert sum(w.numel() for w in made.parameters()) / 1e6 == pytest.approx(millions, abs=0.06)


def pages() -> list[tuple[str, str]]:
    """File and text of pieces of this project's documentation, in an order by chance."""
    found = [
        (path.name, text[start : start + 1500])
        for path in sorted(DOCS.rglob("*.md"))
        for text in [path.read_text("utf-8")]
        for start in range(0, len(text), 1500)
    ]
    random.Random(0).shuffle(found)
    return found


DOCS = Path(__file__).parents[2] / "docs"
UNIQUE = 48 * 1024  # tokens of a run: six runs have 295 thousand
HELD_OUT = 24  # pieces


def run_half(pack: Path, half: int) -> int:
    torch.set_num_threads(1)
    return run_pack(pack, device="cpu", part=(half, 2))


@pytest.mark.slow
def test_clean_text_beats_half_shuffled_text_with_every_seed(tmp_path: Path) -> None:
    """Real text, 1.5 million parameters, six runs of 48 steps, two at a time."""
    found = pages()
    clean = [text for _, text in found[HELD_OUT:]]
    settings = TokenizerSettings(vocab_size=7168, min_documents=2)
    encoder = Encoder(train_tokenizer(clean, settings))
    held = [{"id": str(i), "domain": "docs", "host": name, "url": "", "licence": "",
             "context": "", "text": text} for i, (name, text) in enumerate(found[:HELD_OUT])]  # fmt: skip
    heldout = make_heldout(held)
    proxy = Proxy(size="nano", tokens=UNIQUE, unique_tokens=UNIQUE, sequence=128, batch_tokens=1024)
    plan = tiny_plan(
        ("clean", "damaged"), heldout, encoder, proxy=proxy, seeds=(1, 2, 3), learning_rates=(3e-3,)
    )
    damaged = [shuffled(t, i) if i % 2 else t for i, t in enumerate(clean)]
    arms = {
        name: arm(encoder, texts, UNIQUE // 128, 128)
        for name, texts in (("clean", clean), ("damaged", damaged))
    }
    by_seed = {name: dict.fromkeys(plan.seeds, one) for name, one in arms.items()}
    write_pack(tmp_path / "pack", plan, by_seed, encode_heldout(heldout, encoder), encoder.info)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        halves = [processes.submit(run_half, tmp_path / "pack", half) for half in range(2)]
        assert sum(half.result() for half in halves) == 6
    runs = read_runs(tmp_path / "pack" / "runs")
    assert len({(run.tokens, run.steps) for run in runs}) == 1
    nats = {(run.arm, run.seed): sum(run.table()["nats"].to_pylist()) for run in runs}
    assert all(nats["clean", seed] < nats["damaged", seed] for seed in plan.seeds)
    results = open_results(tmp_path / "pack")
    assert (results.digest, results.strays) == (plan.digest(), ())
    (compared,) = compare_results(results).comparisons
    assert compared.macro.low > 0, "worse beyond doubt"
    assert compared.reasons[0] == "there is no run at the other learning rate"
