from corpus_assets.demo.compose import jaccard
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library
from corpus_assets.demo.other_sources import (
    LANGUAGES,
    generated_table,
    minified,
    near_copy,
    relicensed,
    variant,
)


def test_a_variant_is_far_from_its_program(library: Library) -> None:
    for program in library.programs:
        values = [
            jaccard(program.text, variant(program, Draw("v", program.name, n))) for n in range(6)
        ]
        assert min(values) < 0.6, (program.name, values)


def test_python_variants_still_compile(library: Library) -> None:
    compiled = 0
    for program in library.programs:
        if program.extension == "py":
            for number in range(8):
                text = variant(program, Draw("compile", program.name, number))
                compile(text, program.name, "exec")
                compiled += 1
    assert compiled >= 24


def test_a_variant_keeps_its_licence_line(library: Library) -> None:
    for program in library.programs:
        line = f"SPDX-License-Identifier: {program.licence}"
        assert line in program.text
        assert line in variant(program, Draw("licence", program.name))


def test_a_near_copy_is_a_near_duplicate_and_says_whose_it_is(library: Library) -> None:
    for program in library.programs:
        copy = near_copy(program.text, "owner/fork")
        assert "owner/fork" in copy
        assert 0.85 <= jaccard(program.text, copy) < 1.0, program.name


def test_a_relicensed_file_names_only_its_new_licence(library: Library) -> None:
    text = relicensed(library.programs[0].text, "LicenseRef-Proprietary")
    assert text.count("SPDX-License-Identifier: LicenseRef-Proprietary") == 1


def test_generated_files_look_generated(library: Library) -> None:
    assert max(len(line) for line in minified(library.programs[0]).splitlines()) > 1000
    table = generated_table("MIT", Draw("table"))
    assert "DO NOT EDIT" in table
    assert sum(c.isalpha() for c in table) / len(table) < 0.5


def test_every_program_of_the_library_has_a_known_language(library: Library) -> None:
    assert {program.extension for program in library.programs} <= set(LANGUAGES)
