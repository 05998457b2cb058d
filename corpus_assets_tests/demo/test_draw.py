import hashlib

from corpus_assets.demo.draw import Draw


def test_a_key_gives_the_draws_it_gave_when_this_test_was_written() -> None:
    draw = Draw("golden", 1)
    assert [draw.below(1000) for _ in range(10)] == [330, 597, 202, 996, 8, 597, 319, 949, 35, 570]


def test_draws_are_blake2b_in_counter_mode() -> None:
    key = hashlib.blake2b(b"a\x1f2", digest_size=32).digest()
    stream = b"".join(
        hashlib.blake2b(count.to_bytes(8, "little"), digest_size=64, key=key).digest()
        for count in (0, 8)
    )
    draw = Draw("a", 2)
    expected = [int.from_bytes(stream[at : at + 8], "little") for at in range(0, 128, 8)]
    assert [draw.bits64() for _ in range(16)] == expected


def test_a_fork_neither_takes_from_its_stream_nor_repeats_it() -> None:
    alone, forked = Draw("x"), Draw("x")
    fork = forked.fork("y")
    from_fork = [fork.bits64() for _ in range(5)]
    rest = [forked.bits64() for _ in range(5)]
    assert rest == [alone.bits64() for _ in range(5)]
    assert from_fork != rest


def test_every_item_of_a_shuffle_is_there_once_and_every_order_comes_up() -> None:
    seen = set()
    for number in range(200):
        items = [1, 2, 3]
        Draw("orders", number).shuffle(items)
        seen.add(tuple(items))
    assert len(seen) == 6


def test_a_subset_keeps_the_order_of_its_items() -> None:
    chosen = Draw("subset").subset(range(100), 20)
    assert len(chosen) == 20
    assert chosen == sorted(chosen)


def test_chance_is_about_as_often_true_as_it_says() -> None:
    draw = Draw("chance")
    assert 250 < sum(draw.chance(30) for _ in range(1000)) < 350
