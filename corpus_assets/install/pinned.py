"""What was fetched first: digests that no publisher states, written down for every later machine.

`models.json` lies in the folder of a recipe's lock (`RECIPE.lock` beside the recipe; for a shipped
one in the home's `locks`). It goes under version control with the recipe: a machine that gets other
bytes is refused.
"""

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from corpus_assets.core.errors import ModelError

FILE = "models.json"
FORMAT = "corpus-assets/models/1"


@dataclass(frozen=True)
class ModelPin:
    """A model as it was fetched first."""

    sha256: str
    bytes: int
    place: str
    revision: str = ""  # the commit, where the place has one


@dataclass(frozen=True)
class ModelPins:
    """The file of pins in a folder, which need not be there yet."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def all(self) -> dict[str, ModelPin]:
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
            if raw["format"] != FORMAT:
                raise ValueError(f"format {raw['format']!r}")
            found = {str(name): ModelPin(**pin) for name, pin in raw["models"].items()}
            for pin in found.values():
                if re.fullmatch("[0-9a-f]{64}", pin.sha256) is None:
                    raise ValueError(f"{pin.sha256!r} is not a SHA-256")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self.path} cannot be read ({error}): restore or remove it"
            ) from error
        return found

    def add(self, name: str, pin: ModelPin) -> None:
        """Write down a pin; one that is there stays as it is."""
        pins = self.all()
        if name in pins:
            return
        pins[name] = pin
        models = {each: asdict(pins[each]) for each in sorted(pins)}
        text = json.dumps({"format": FORMAT, "models": models}, indent=1, ensure_ascii=False)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{FILE}.")
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, self.path)
        except OSError as error:
            raise ModelError(
                f"{self.path} cannot be written ({error.strerror}): copy the recipe to another "
                "folder and run the same command for the copy"
            ) from error

    def check(self, name: str, sha256: str) -> None:
        """Refuse a model that is another than the one that was fetched first."""
        pin = self.all().get(name)
        if pin is not None and pin.sha256 != sha256:
            raise ModelError(
                f"{name} has SHA-256 {sha256}, {self.path} pins {pin.sha256}, which was fetched first: "
                "use those bytes (from a bundle or mirror), or remove the pin and fetch it again "
                "everywhere"
            )
