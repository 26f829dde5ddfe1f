"""models.yaml: the chat models by name, and what must be there before the first call is paid for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from erreval.chat.endpoint import Endpoint, ModelListError, list_models
from erreval.errors import ErrevalError, SettingsError

MODELS_FILE = "models.yaml"
_EXAMPLE = "models: {my-model: {base_url: 'http://localhost:8000/v1', key_env: MY_KEY}}"
TokenLimit = Literal["max_tokens", "max_completion_tokens"]


class ModelSpec(BaseModel):
    """One model of models.yaml. It names where the key is, and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str
    model: str | None = Field(default=None, min_length=1)
    """The model's name at the endpoint, where that is another than here."""
    key_env: str | None = None
    """Environment variable that holds the key."""
    key_file: Path | None = None
    """File that holds the key, relative to models.yaml. With neither, none is sent: local servers ask for none."""
    timeout_s: float = Field(default=120.0, gt=0, le=3600)
    """Seconds for a whole reply."""
    token_limit: TokenLimit = "max_tokens"  # noqa: S105 - no password
    """How the endpoint calls the limit of a reply; OpenAI's reasoning models take ``max_completion_tokens`` only."""

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError("is no address of a server; write http://HOST:PORT/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("holds more than an address; take name, password and query out and use key_env")
        return url

    @field_validator("key_env")
    @classmethod
    def _a_variable(cls, name: str | None) -> str | None:
        # A key written here by mistake must not reach a message that says the variable is not set.
        if name is not None and not (name.isascii() and name.isidentifier() and name == name.upper()):
            raise ValueError("is no name of an environment variable; write NAME_IN_CAPITALS, never the key itself")
        return name

    @model_validator(mode="after")
    def _one_key(self) -> ModelSpec:
        if self.key_env is not None and self.key_file is not None:
            raise ValueError("names both key_env and key_file; keep one")
        return self


class _ModelsFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    models: dict[str, ModelSpec] = Field(min_length=1)


@dataclass(frozen=True)
class ReadyModel:
    """A model whose key has been found."""

    name: str
    served: str
    endpoint: Endpoint
    timeout_s: float = 120.0
    token_limit: TokenLimit = "max_tokens"  # noqa: S105 - no password


def load_models(path: Path | str = MODELS_FILE) -> Mapping[str, ModelSpec]:
    """The models of a models.yaml, by name.

    Raises:
        SettingsError: The file is missing, is not YAML, or has mistakes; all of them are told, and no key is.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    path = Path(path)
    problem = ""
    try:
        document = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        return _ModelsFile.model_validate(document if document is not None else {}).models
    except FileNotFoundError:
        problem = f"no such file; write one, such as {_EXAMPLE}"
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = f"not valid YAML{where}: {getattr(error, 'problem', None) or 'cannot be read'}"
    except UnicodeDecodeError:
        problem = "is not UTF-8 text; save it as UTF-8"
    except ValidationError as error:
        problem = "; ".join(_told(item["loc"], item["msg"], item["type"]) for item in error.errors(include_input=False))
    # Raised here and not above: the library's errors quote the line, and a mistaken line may hold a key.
    raise SettingsError(f"{path}: {problem}")


def _told(loc: tuple[int | str, ...], message: str, kind: str) -> str:
    where = ".".join(str(part) for part in loc if part != "models") or "the file"
    if kind == "extra_forbidden":
        if loc[0] != "models":
            return f"an entry of the top level is unknown; all stands under `models:`, such as {_EXAMPLE}"
        known = ", ".join(ModelSpec.model_fields)
        return f"{where}: there is no such entry; known are {known} (the key itself is never written here)"
    return f"{where}: {message.removeprefix('Value error, ')}"


def named_models(names: Iterable[str], path: Path | str = MODELS_FILE) -> list[ReadyModel]:
    """The named models with their keys; no endpoint is asked.

    Raises:
        SettingsError: All that is wrong, in one message: unknown names, missing keys.
    """
    found, problems = _find(names, path)
    if problems:
        raise SettingsError(f"{path}: {'; '.join(problems)}")
    return found


def ready_models(names: Iterable[str], path: Path | str = MODELS_FILE, *, seconds: float = 5.0) -> list[ReadyModel]:
    """The named models, their keys found and their endpoints asked whether they offer them.

    Args:
        names: Names in models.yaml; each is looked at once.
        path: The models.yaml.
        seconds: How long an endpoint may take to list its models.

    Returns:
        One entry a distinct name, in order.

    Raises:
        SettingsError: All that is wrong, in one message: unknown names, missing keys, endpoints that are down.
    """
    found, problems = _find(names, path)
    problems += _not_offered(found, seconds)
    if problems:
        raise SettingsError(f"{path}: {'; '.join(problems)}")
    return found


def _find(names: Iterable[str], path: Path | str) -> tuple[list[ReadyModel], list[str]]:
    """Models with their keys, and what is wrong with the others."""
    specs = load_models(path)
    problems: list[str] = []
    found: list[ReadyModel] = []
    for name in dict.fromkeys(names):
        if name not in specs:
            problems.append(f"there is no model {name!r}; there are: {', '.join(specs)}")
            continue
        spec = specs[name]
        key, why = _key(spec, Path(path).parent)
        if why:
            problems.append(f"{name}: {why}")
            continue
        where = spec.key_env or "key_file"
        endpoint = Endpoint(spec.base_url, key or "none", key_name=where)
        found.append(ReadyModel(name, spec.model or name, endpoint, spec.timeout_s, spec.token_limit))
    return found, problems


def _key(spec: ModelSpec, folder: Path) -> tuple[str, str]:
    """The key, or why there is none; the path of a key file is not told, as it may be the key by mistake."""
    if spec.key_env is not None:
        key = os.environ.get(spec.key_env, "").strip()
        return key, "" if key else f"the environment variable {spec.key_env} holds no key; set it"
    if spec.key_file is not None:
        try:
            key = (folder / spec.key_file.expanduser()).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return "", "key_file names no file that can be read as text; check the path"
        return key, "" if key else "the key_file is empty; write the key into it"
    return "", ""


def _not_offered(models: Iterable[ReadyModel], seconds: float) -> list[str]:
    problems = []
    answers: dict[tuple[str, str], list[str] | str | None] = {}
    for model in models:
        place = (model.endpoint.base_url, model.endpoint.key)
        if place not in answers:
            try:
                answers[place] = list_models(model.endpoint, seconds)
            except ErrevalError as error:
                # Some compatible servers have no list; whether they know the model shows at the first call.
                has_no_list = isinstance(error, ModelListError) and error.status in {404, 405}
                answers[place] = None if has_no_list else str(error)
        answer = answers[place]
        if isinstance(answer, str):
            problems.append(f"{model.name}: {answer}")
        elif answer is not None and not any(n == model.served or n.endswith(f"/{model.served}") for n in answer):
            offered = ", ".join(answer[:10]) or "nothing"
            problems.append(f"{model.name}: {model.endpoint.address} does not offer {model.served!r} but {offered}")
    return problems
