"""Files of a repository in the order of their imports."""

import random

import pytest

from corpus_assets.shards.imports import Place, import_order, imports_of

Tree = dict[str, str]


def _order(tree: Tree, repository: str = "acme/shop") -> list[str]:
    paths = sorted(tree)
    places = [Place(b"", path, imports_of(repository, path, tree[path])) for path in paths]
    return [paths[row] for row in import_order(places)]


@pytest.mark.parametrize(
    ("tree", "order"),
    [
        (
            {
                "app.py": "import shop.cart as cart, os\nfrom shop import (\n    api,  # first\n)\n",
                "shop/__init__.py": "",
                "shop/api.py": "from .cart import Cart\nfrom . import tax\n",
                "shop/cart.py": "from ..shop.zebra import stripes\n",
                "shop/tax.py": "def f():\n    from shop import api  # when it is called\n",
                "shop/zebra.py": "import json\n",
                "shop/json.py": "",  # another one is meant
            },
            ["shop/__init__.py", "shop/tax.py", "shop/zebra.py", "shop/cart.py", "shop/api.py",
             "app.py", "shop/json.py"],
        ),
        (
            {
                "src/a.ts": "import { b } from './lib/b.js';\nexport * from \"./lib\";\n",
                "src/lib/b.ts": "const c = require('../c');\n",
                "src/lib/index.ts": "import react from 'react';",
                "src/c.jsx": "await import('./c/../d')",
                "src/d/index.js": "",
            },
            ["src/d/index.js", "src/c.jsx", "src/lib/b.ts", "src/lib/index.ts", "src/a.ts"],
        ),
        (
            {
                "src/main/java/com/acme/App.java": "package com.acme;\nimport com.acme.model.*;\n"
                "import static com.acme.util.Text.join;\nimport java.util.List;\n",
                "src/main/java/com/acme/model/Zoo.java": "",
                "src/main/java/com/acme/util/Text.java": "import com.acme.model.Zoo;",
            },
            ["src/main/java/com/acme/model/Zoo.java", "src/main/java/com/acme/util/Text.java",
             "src/main/java/com/acme/App.java"],
        ),
        (
            {
                "a.c": '#include "inc/z.h"\n#  include <stdio.h>\n',
                "inc/y.h": "",
                "inc/z.h": '#include "y.h"\n',
                "other/y.h": '#include <inc/z.h>\n',
            },
            ["inc/y.h", "inc/z.h", "a.c", "other/y.h"],
        ),
        (
            {
                "cmd/main.go": 'package main\nimport (\n\t"errors"\n\t"github.com/acme/shop/store"\n)\n',
                "store/a.go": 'package store\nimport "github.com/acme/shop/types"\n',
                "store/b.go": "package store\n",
                "types/t.go": "package types\n",
                "errors/e.go": "package errors\n",  # not the one of the standard library
            },
            ["store/b.go", "types/t.go", "store/a.go", "cmd/main.go", "errors/e.go"],
        ),
        (
            {
                "src/main.rs": "mod net;\nuse crate::util::{self, text};\nfn main() {}\n",
                "src/net/mod.rs": "pub(crate) mod wire;\n",
                "src/net/wire.rs": "use super::super::util;\nuse crate::util::text::Trim;\n",
                "src/util.rs": "pub mod text;\n",
                "src/util/text.rs": "",
            },
            ["src/util/text.rs", "src/util.rs", "src/net/wire.rs", "src/net/mod.rs", "src/main.rs"],
        ),
        (
            {
                "app/Http/Cart.php": "<?php\nuse App\\Models\\User;\nrequire_once __DIR__ . '/tax.php';",
                "app/Http/tax.php": "",
                "app/Models/User.php": "",
            },
            ["app/Http/tax.php", "app/Models/User.php", "app/Http/Cart.php"],
        ),
        (
            {"lib/a.rb": "require_relative 'b'\nrequire 'shop/c'\n", "lib/b.rb": "", "lib/shop/c.rb": ""},
            ["lib/b.rb", "lib/shop/c.rb", "lib/a.rb"],
        ),
        (
            {"Api/Cart.cs": "using System;\nusing Shop.Models;\n", "Models/User.cs": ""},
            ["Models/User.cs", "Api/Cart.cs"],
        ),
    ],
    ids=["python", "javascript", "java", "c", "go", "rust", "php", "ruby", "c_sharp"],
)  # fmt: skip
def test_what_a_file_imports_comes_before_it(tree: Tree, order: list[str]) -> None:
    assert _order(tree) == order


def test_files_that_no_import_connects_keep_the_order_of_paths() -> None:
    tree = {"README.md": "import b", "b.py": "", "c.py": "import nothing", "a.txt": "", "z": ""}
    assert _order(tree) == sorted(tree)


def test_files_that_import_each_other_are_together() -> None:
    tree = {"a.py": "import y", "b.py": "", "m.py": "", "y.py": "", "z.py": "import b"}
    assert _order(tree) == ["y.py", "a.py", "b.py", "z.py", "m.py"]


def test_a_circle_begins_with_the_file_that_imports_the_fewest_of_those_left() -> None:
    tree = {"a.py": "import b, c", "b.py": "import c", "c.py": "import a, b", "d.py": "import a"}
    assert _order(tree) == ["b.py", "a.py", "c.py", "d.py"]


def test_without_circles_every_import_is_kept_whatever_the_tree() -> None:
    draw = random.Random(4)
    for _ in range(40):
        names = [f"m{number:02d}" for number in range(draw.randrange(1, 20))]
        draw.shuffle(names)
        tree = {
            f"{name}.py": "".join(
                f"import {other}\n" for other in names[:at] if draw.random() < 0.3
            )
            for at, name in enumerate(names)
        }
        order = _order(tree)
        assert sorted(order) == sorted(tree)
        for path, text in tree.items():
            for line in text.splitlines():
                assert order.index(f"{line.split()[1]}.py") < order.index(path)


@pytest.mark.parametrize(
    "text",
    [
        "from " + " " * 200_000,
        "import (\n" * 20_000,
        "from a import (" + "b, " * 60_000,
        "import " + ", ".join(f"a{i}" for i in range(30_000)),
        "use crate::{" * 20_000,
        "require(" * 50_000,
        "#include " * 50_000,
    ],
    ids=["spaces", "blocks", "names", "modules", "groups", "calls", "includes"],
)
@pytest.mark.parametrize("path", ["a/b.py", "a/b.js", "a/b.go", "a/b.rs", "a/b.c", "a/b.php"])
def test_text_that_is_made_to_be_slow_is_not(text: str, path: str) -> None:
    """Of square time these would take minutes."""
    assert len(imports_of("o/r", path, text)) <= 500
